/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_JIT_JIT_NAMES_H
#define PROFD_DAEMON_WORKER_JIT_JIT_NAMES_H

/*
 * Names of generated code, from what the program that makes it writes for profilers:
 *
 *   perf map  text: "START SIZE NAME" a line, hexadecimal (Linux: tools/perf/Documentation/
 *             jit-interface.txt). What is said last of an address counts.
 *   jitdump   binary, with time stamps (jitdump-specification.txt there): code load, code move,
 *             debug info (lines), close. Either byte order.
 *
 * Both are untrusted, and may be in the middle of being written: what is incomplete at the end is
 * not an error. Pure but for *_read(), which pread(2)s a file.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"
#include "daemon/worker/names/elf_names.h"

#define JIT_NAMES_BYTES_MAX (128u << 20) /* of a file; beyond, only so much is read */

struct jit_names;

/* Each returns enum worker_outcome (a file without names is DONE) or -ENOMEM. */
int jit_names_from_perf_map(struct jit_names **ret, const char *text, size_t length);
int jit_names_from_jitdump(struct jit_names **ret, const uint8_t *data, size_t length);
/* @is_jitdump: else a perf map. */
int jit_names_read(struct jit_names **ret, int fd, bool is_jitdump);
void jit_names_free(struct jit_names *j);
DEFINE_CLEANUP(struct jit_names *, jit_names_free)
/* Memory held, bytes; and how many ranges of code have a name. */
size_t jit_names_bytes(const struct jit_names *j);
size_t jit_names_count(const struct jit_names *j);

/*
 * The code at @address of the process: its range in *ret_start, *ret_size; file and line from
 * jitdump's debug info. False: nothing is known; then they are the range around @address in which
 * nothing is. Texts live as long as @j.
 */
bool jit_names_find(const struct jit_names *j, uint64_t address, struct frame_name *ret,
		    uint64_t *ret_start, uint64_t *ret_size);

#endif
