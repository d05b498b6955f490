/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_JIT_FILE_H
#define PROFD_RESOLVE_JIT_FILE_H

/*
 * A file in which a process tells profilers the names of the code that it generates: a perf map or
 * a jitdump (daemon/worker/jit/jit_names.h). It is open since the process was first sampled in such
 * code, so it still has names when the process has ended or the file was deleted. How it is found
 * and why it is believed is jit_files.h's.
 *
 * Shared between the main thread (processes) and the output thread (snapshots) by an atomic
 * reference count. What it names changes, as the process goes on writing; what it is does not.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "daemon/resolve/image.h"

struct jit_file {
	atomic_uint n_references;
	uint64_t id; /* never reused */
	bool is_jitdump;
	char *path; /* as the process sees it, nearly: for messages */
	uint64_t device, inode;
	atomic_int fd;      /* read-only, or -1: it had to make room; see lent_fd.h */
	atomic_bool is_bad; /* an image worker died of it: nobody asks again */
	uint64_t used;      /* the main thread's: the number of the newest look that found it */
};

/* Both take NULL. Any thread. */
struct jit_file *jit_file_ref(struct jit_file *file);
void jit_file_unref(struct jit_file *file);
DEFINE_CLEANUP(struct jit_file *, jit_file_unref)

/*
 * Whether what is mapped there is code that was generated: anonymous memory, or memory that is
 * mapped twice, to be written through one mapping and run through the other, and has a name
 * therefore (memfd_create(2), shm_open(3) of a file that is deleted at once, shmget(2)). A library
 * that was loaded from such memory is an ELF file, and none.
 */
bool jit_file_is_for(const struct image *image);

#endif
