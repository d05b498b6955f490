/* SPDX-License-Identifier: MIT */

/* Any text as /proc/PID/cgroup: there is always a service, and an id has 64 digits or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/resolve/unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unit unit;
	size_t n;

	unit_parse((const char *)data, size, 1000, &unit);
	n = strlen(unit.container);
	if (!unit.service[0] || (n != 0 && n != 64) || strchr(unit.service, '/'))
		abort();
	if (strlen(unit.cgroup) >= sizeof(unit.cgroup))
		abort();
	return 0;
}
