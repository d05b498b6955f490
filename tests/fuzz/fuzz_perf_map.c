/* SPDX-License-Identifier: MIT */

/* Any text as a perf map. */
#include "tests/fuzz/jit_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	jit_fuzz(false, data, size);
	return 0;
}
