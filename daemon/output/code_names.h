/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_CODE_NAMES_H
#define PROFD_OUTPUT_CODE_NAMES_H

/*
 * What interpreters' code in one window is called, and the lines of its instructions. The image
 * worker for symbols finds that out (WORKER_FUNCTIONS): for each code object that the window has,
 * and for each of its instructions there, once. Code that a worker was lost over is bad, and nobody
 * asks for it again; what cannot be asked for now is unknown in this window.
 */
#include <stdint.h>

#include "common/cleanup.h"

struct code_names;
struct context;
struct view;

struct code_name {
	const char *name, *file; /* UTF-8 without control characters; file: "" unknown */
	uint32_t first_line;
};

/*
 * Asks for all code in @view: names at any rate, lines where the snapshot wants them. Their texts
 * are bounded by c->text_bytes. Blocks for the worker. Returns 0 or negative errno.
 */
int code_names_new(struct code_names **ret, const struct view *view, const struct context *c);
void code_names_free(struct code_names *n);
DEFINE_CLEANUP(struct code_names *, code_names_free)

/*
 * The code of @frame, of FRAME_RUNTIME, and the line of its instruction (0: unknown or not wanted);
 * the same code is the same pointer. NULL: unknown, *ret_line is untouched.
 */
const struct code_name *code_names_find(const struct code_names *n, uint64_t frame,
					uint32_t *ret_line);

#endif
