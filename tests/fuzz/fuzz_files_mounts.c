/* SPDX-License-Identifier: MIT */
/* A path and, behind its NUL, any text as mountinfo: the mount found lies above the path. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/symbolize/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = (const char *)data, *text = memchr(data, '\0', size);
	size_t length, n;
	bool is_slow;

	if (!text)
		return 0;
	text++;
	length = size - (size_t)(text - path);
	n = files_mount_of(text, length, path, &is_slow);
	if (n > strlen(path) || (n && path[n] && path[n] != '/'))
		abort();
	if (is_slow && !files_has_slow_mount(text, length))
		abort();
	return 0;
}
