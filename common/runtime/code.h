/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_RUNTIME_CODE_H
#define PROFD_COMMON_RUNTIME_CODE_H

/*
 * A code object as the BPF programs read it from a process's memory: nobody has looked at a byte of
 * it. profd keeps and compares it; what it means is the image worker's to find out
 * (daemon/worker/runtime).
 */
#include <stdint.h>

/* Characters as the interpreter has them: numbers of @width bytes each. */
struct runtime_text {
	const uint8_t *bytes;
	uint16_t n_bytes;
	uint8_t width;
};

struct runtime_code {
	uint32_t version; /* of the interpreter: row.h */
	uint32_t first_line;
	struct runtime_text name, file;
	const uint8_t *table; /* of lines, as that version has them; may be cut short */
	uint32_t table_bytes;
};

#endif
