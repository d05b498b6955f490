/* SPDX-License-Identifier: MIT */
/* A path and, behind its NUL, any text as mountinfo: the mount found lies above the path. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/symbolize/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = (const char *)data, *text = memchr(data, '\0', size), *point;
	cleanup(mount_list_freep) struct mount_list *m = NULL;
	bool is_slow;

	if (!text || mount_list_new(&m, text + 1, size - (size_t)(text + 1 - path)))
		return 0;
	point = mount_list_find(m, path, &is_slow);
	if (strcmp(point, "/") != 0 && strncmp(point, path, strlen(point)) != 0)
		abort();
	if (is_slow && !mount_list_has_slow(m))
		abort();
	return 0;
}
