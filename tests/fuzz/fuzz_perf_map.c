/* SPDX-License-Identifier: MIT */

/* Any text as a perf map: every answer is around the address that was asked for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/jit/jit_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct jit_names *j, uint64_t address)
{
	struct frame_name frame;
	uint64_t start, length;

	if (jit_names_find(j, address, &frame, &start, &length) && !*frame.system_name)
		abort();
	if (start > address || address - start >= length)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_names *j = NULL;
	uint64_t address = 0;

	if (jit_names_from_perf_map(&j, (const char *)data, size) != WORKER_DONE)
		return 0;
	/* From range to range. */
	for (size_t i = 0; i < 2 * jit_names_count(j) + 2; i++) {
		struct frame_name frame;
		uint64_t start, length;

		check(j, address);
		jit_names_find(j, address, &frame, &start, &length);
		if (start != address)
			abort();
		address = start + length;
	}
	for (unsigned shift = 0; shift < 64; shift++)
		check(j, UINT64_MAX << shift);
	jit_names_free(j);
	return 0;
}
