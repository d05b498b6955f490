/* SPDX-License-Identifier: MIT */

/* Any bytes as a jitdump: every answer is around the address that was asked for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/jit/jit_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t check(const struct jit_names *j, uint64_t address)
{
	struct frame_name frame;
	uint64_t start, length;

	if (jit_names_find(j, address, &frame, &start, &length) &&
	    (!*frame.system_name || (frame.file && !*frame.file)))
		abort();
	if (start > address || address - start >= length)
		abort();
	return start + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_names *j = NULL;
	uint64_t address = 0;

	if (jit_names_from_jitdump(&j, data, size) != WORKER_DONE)
		return 0;
	for (size_t i = 0; i < 2 * jit_names_count(j) + 2; i++) {
		uint64_t next = check(j, address);

		/* Within the range, too: where its lines are. */
		check(j, address + (next - address) / 2);
		check(j, next - 1);
		address = next;
	}
	jit_names_free(j);
	return 0;
}
