/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_JIT_JIT_NAMES_H
#define PROFD_DAEMON_WORKER_JIT_JIT_NAMES_H

/*
 * Names of generated code, from what the program that makes it writes for profilers:
 *
 *   perf map  text: "START SIZE NAME" a line, hexadecimal (Linux: tools/perf/Documentation/
 *             jit-interface.txt).
 *   jitdump   binary, with time stamps (jitdump-specification.txt there): code load, code move,
 *             debug info (lines), close. Either byte order.
 *
 * Code is said to lie where older code was: its memory is freed and used again, in whole or in
 * part. What is said last of an address counts.
 *
 * Both are untrusted, and may be in the middle of being written: what is incomplete at the end is
 * not an error. They are read in pieces, for the addresses that somebody asks for: memory is by
 * their number, and does not depend on what the file has.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"
#include "daemon/worker/names/elf_names.h"

#define JIT_NAMES_BYTES_MAX (128u << 20) /* of a file; what is behind is not looked at */

struct jit_question {
	bool is_jitdump;           /* else a perf map */
	const uint64_t *addresses; /* of the process, ascending; borrowed until jit_names_free() */
	size_t n;
	/* Bytes that are read at once; 0 is what is best. A line of a perf map must fit. */
	size_t piece;
};

struct jit_names;

/*
 * Reads the regular file @fd, borrowed until jit_names_free(). Returns enum worker_outcome (a file
 * without names is DONE) or -ENOMEM.
 */
int jit_names_new(struct jit_names **ret, int fd, const struct jit_question *question);
void jit_names_free(struct jit_names *j);
DEFINE_CLEANUP(struct jit_names *, jit_names_free)

/*
 * The code at the question's address with index @i: its range in *ret_start, *ret_size; file and
 * line from jitdump's debug info. False: nothing is known; then they are the range around the
 * address in which nothing is. Texts are read from the file, and live until the next call.
 */
bool jit_names_get(struct jit_names *j, size_t i, struct frame_name *ret, uint64_t *ret_start,
		   uint64_t *ret_size);

#endif
