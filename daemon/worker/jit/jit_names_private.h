/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_JIT_JIT_NAMES_PRIVATE_H
#define PROFD_DAEMON_WORKER_JIT_JIT_NAMES_PRIVATE_H

/* How the two parsers (jit_names.c: perf maps; jitdump.c) make a struct jit_names; nobody else
 * includes this.
 */
#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/jit/jit_names.h"

/* What is said beyond is left out: it bounds memory where the file's size does not. */
#define JIT_CODES_MAX (4u << 20)

/* The lines of one piece of code: within the lines of all. */
struct jit_lines {
	uint32_t first, n;
};

/* One piece of code, as it was said. */
struct jit_code {
	uint64_t start, end; /* end is not part of it */
	uint32_t name;       /* offset in the text */
	struct jit_lines lines;
};

/* From @offset within the code on, up to the next one's. */
struct jit_line {
	uint32_t offset; /* bytes from the code's start */
	uint32_t line;
	uint32_t file; /* offset in the text */
};

/* Everything that the file says, in its order. */
struct jit_draft {
	struct jit_code *codes;
	size_t n_codes, n_codes_allocated;
	struct jit_line *lines; /* those of one piece of code follow each other */
	size_t n_lines, n_lines_allocated;
	char *text; /* texts, each with its NUL; the first is empty */
	size_t text_length, text_size;
};

/* @text_max: bytes of all texts to come, their NULs included. Returns 0 or -ENOMEM. */
int jit_draft_init(struct jit_draft *d, size_t text_max);
void jit_draft_deinit(struct jit_draft *d);
/* Keeps a copy, up to a NUL in it; 0 where there is no room left. */
uint32_t jit_draft_add_text(struct jit_draft *d, const char *text, size_t length);
/* Empty and wrapping ranges are left out, as is what no longer fits. Returns 0 or -ENOMEM. */
int jit_draft_add_code(struct jit_draft *d, const struct jit_code *code);
/* What was said last of an address counts. Takes what @d holds. Returns 0 or -ENOMEM. */
int jit_names_new(struct jit_names **ret, struct jit_draft *d);

#endif
