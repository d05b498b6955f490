/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_CODE_DECODER_H
#define PROFD_DAEMON_WORKER_RUNTIME_CODE_DECODER_H

/*
 * What code objects say of themselves. Another interpreter is a row of code_decoder.c. Pure: every
 * byte is a stranger's.
 */
#include "common/runtime/code.h"
#include "common/worker/protocol.h"

/* UTF-8 without control characters, cut to what fits. */
struct decoded_code {
	char name[WORKER_FUNCTION_TEXT_MAX + 1];
	char file[WORKER_FUNCTION_TEXT_MAX + 1]; /* "": unknown */
};

void code_decode(const struct runtime_code *code, struct decoded_code *ret);
/* The line of the instruction at @offset (bytes from the first one), at most INT32_MAX; 0: none. */
uint32_t code_decode_line(const struct runtime_code *code, uint32_t offset);

#endif
