/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_JIT_JITDUMP_H
#define PROFD_DAEMON_WORKER_JIT_JITDUMP_H

#include "daemon/worker/jit/jit_input.h"
#include "daemon/worker/jit/jit_places.h"

/* What is said of one address. */
struct jit_line {
	uint32_t line;         /* 0: unknown */
	struct jit_bytes file; /* length 0: unknown */
};

/*
 * Adds to @places all code that a jitdump names. *ret_lines: the line of each address, malloc'ed
 * and the caller's. Returns enum worker_outcome or -ENOMEM.
 */
int jitdump_read(struct jit_input *in, struct jit_places *places, struct jit_line **ret_lines);

#endif
