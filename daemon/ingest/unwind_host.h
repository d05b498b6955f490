/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_UNWIND_HOST_H
#define PROFD_INGEST_UNWIND_HOST_H

/*
 * The memory that the BPF programs' walks read (common/unwind/layout.h), as its owner, the BPF
 * source, lends it to the unwinder, which alone writes it. A source without such walks has none;
 * the unwinder then uses memory of its own.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/runtime/row.h"
#include "common/unwind/layout.h"

/*
 * A file that is an interpreter, or loads one as a library: which file, and what the image worker
 * says of it, as in common/worker/protocol.h.
 */
struct unwind_host_runtime {
	uint32_t device_major, device_minor;
	uint64_t inode, size;
	uint32_t image;       /* its number in struct unwind_mapping */
	uint64_t text_offset; /* of `text` in the file */
	uint64_t text, state, check, dynamic, debug, loop, tls_index, count;
	uint32_t version, check_value, loop_bytes, state_bytes, libc;
	int32_t tls_at;
	struct runtime_v8 v8;
};

struct unwind_host {
	uint64_t *words;
	size_t n_words;
	struct table_slot *slots;
	size_t n_slots;
	struct unwind_mapping *mappings;
	size_t n_mappings;
	/*
	 * Puts @root into force for root->pid, which children born from then on inherit; or takes
	 * it away. Void if the kernel saw the process exec, or be born, after root->until_ns.
	 * Return 0, UNWIND_HOST_E_FULL, or negative errno.
	 */
	int (*publish)(void *userdata, const struct unwind_root *root);
	int (*withdraw)(void *userdata, pid_t pid);
	bool removes_ended; /* what ends loses its root without that */
	/* Process events up to here have been delivered, CLOCK_MONOTONIC; 0: none yet. */
	uint64_t (*events_until)(void *userdata);
	/* Programs that run @runtime have its frames from now on, as far as it is known. NULL: it
	 * has none. Returns UNWIND_HOST_E_OK, _FULL or _UNKNOWN. */
	int (*add_runtime)(void *userdata, const struct unwind_host_runtime *runtime);
	void *userdata;
};

enum {
	UNWIND_HOST_E_OK,
	UNWIND_HOST_E_FULL,    /* not now: no room, or busy; what was there before may still be */
	UNWIND_HOST_E_UNKNOWN, /* never: nothing is known of that version */
};

#endif
