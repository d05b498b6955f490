/* SPDX-License-Identifier: MIT */
/* The beginning of a file that a user wants to be run. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/run/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char interpreter[PROGRAM_PATH_SIZE];
	uint8_t *copy = malloc(size ? size : 1);
	enum program_kind kind;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	memset(interpreter, 'x', sizeof(interpreter));
	kind = program_classify(copy, size, interpreter);
	if (kind == PROGRAM_PRIVILEGED ||
	    (kind == PROGRAM_SCRIPT && !memchr(interpreter, 0, sizeof(interpreter))))
		abort();
	free(copy);
	return 0;
}
