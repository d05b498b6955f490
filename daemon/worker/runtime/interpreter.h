/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_INTERPRETER_H
#define PROFD_DAEMON_WORKER_RUNTIME_INTERPRETER_H

/*
 * What is asked of any interpreter: whether a file is one, and what its code objects say of
 * themselves. Another interpreter is a row of interpreter.c. Every byte is a stranger's.
 */
#include "common/runtime/code.h"
#include "common/worker/protocol.h"
#include "daemon/worker/elf/elf_image.h"

/* *ret: all zero, or with a refusal alone, if @image is none that is known, and loads none. */
void interpreter_recognize(struct elf_image *image, struct worker_runtime *ret);

/* UTF-8 without control characters, cut to what fits. */
struct decoded_code {
	char name[WORKER_FUNCTION_TEXT_MAX + 1];
	char file[WORKER_FUNCTION_TEXT_MAX + 1]; /* "": unknown */
};

void code_decode(const struct runtime_code *code, struct decoded_code *ret);
/* The line of the instruction at @offset (bytes from the first one), at most INT32_MAX; 0: none. */
uint32_t code_decode_line(const struct runtime_code *code, uint32_t offset);

#endif
