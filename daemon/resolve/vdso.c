/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/vdso.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"

/* It is some pages. */
#define BYTES_MAX (1u << 20)

/* Of the mapping that begins at @start; 0: there is no such. */
static uint64_t mapping_length(uint64_t start)
{
	cleanup(fclosep) FILE *maps = fopen("/proc/self/maps", "re");
	cleanup(freep) char *line = NULL;
	uint64_t first, end;
	size_t size = 0;

	if (!maps)
		return 0;
	while (getline(&line, &size, maps) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &first, &end) == 2 && first == start)
			return end - start;
	return 0;
}

int vdso_open(int *ret)
{
	const void *data = (const void *)getauxval(AT_SYSINFO_EHDR);
	uint64_t length = data ? mapping_length((uintptr_t)data) : 0;
	cleanup(closep) int fd = -1;
	char path[32];

	if (!length || length > BYTES_MAX)
		return VDSO_E_NONE;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, length) != (ssize_t)length)
		return VDSO_E_NONE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? VDSO_E_NONE : VDSO_E_OK;
}
