/* SPDX-License-Identifier: MIT */

/* Any bytes as a jitdump. */
#include "tests/fuzz/jit_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	jit_fuzz(true, data, size);
	return 0;
}
