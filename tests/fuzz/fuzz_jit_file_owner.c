/* SPDX-License-Identifier: MIT */

/* Any text as /proc/PID/status: what is believed of it is a pid. */
#include <stdint.h>
#include <stdlib.h>

#include "daemon/resolve/jit_file_owner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_file_owner owner;

	if (jit_file_owner_parse((const char *)data, size, &owner) && owner.inner_pid <= 0)
		abort();
	return 0;
}
