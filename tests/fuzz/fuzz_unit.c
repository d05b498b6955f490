/* SPDX-License-Identifier: MIT */

/*
 * Any text as /proc/PID/cgroup: there is always a service, and an id has 64 digits or none. And as
 * the path of a group: what it names is of characters that names have.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/resolve/container_path.h"
#include "daemon/resolve/unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_path(const char *path)
{
	struct container_path p;
	size_t n;

	if (!container_path_parse(path, &p))
		return;
	n = strlen(p.id);
	if ((n != 0 && n != 64) || strspn(p.id, "0123456789abcdef") != n)
		abort();
	n = strlen(p.pod);
	if ((n != 0 && n != 32 && n != 36) || strspn(p.pod, "0123456789abcdef-") != n)
		abort();
	if (strlen(p.machine) >= sizeof(p.machine) || strpbrk(p.machine, "/\n") ||
	    p.machine[0] == '.')
		abort();
	if (!p.id[0] && !p.pod[0] && !p.machine[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = strndup((const char *)data, size);
	struct unit unit;
	size_t n;

	unit_parse((const char *)data, size, 1000, &unit);
	n = strlen(unit.container);
	if (!unit.service[0] || (n != 0 && n != 64) || strchr(unit.service, '/'))
		abort();
	if (strlen(unit.cgroup) >= sizeof(unit.cgroup))
		abort();
	if (path)
		try_path(path);
	free(path);
	return 0;
}
