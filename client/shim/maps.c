/* SPDX-License-Identifier: MIT */
#include "client/shim/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"

#define BYTES_FIRST (64u << 10)
#define BYTES_MAX   (64u << 20)

char *maps_read(size_t *ret_length)
{
	cleanup(closep) int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t size = BYTES_FIRST, length = 0;
	cleanup(freep) char *text = NULL;

	if (fd < 0)
		return NULL;
	text = malloc(size);
	while (text) {
		ssize_t n = read(fd, text + length, size - length - 1);
		char *grown;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NULL;
		if (n == 0)
			break;
		length += (size_t)n;
		if (size - length > 4096)
			continue;
		grown = size < BYTES_MAX ? realloc(text, size * 2) : NULL;
		if (!grown)
			return NULL;
		text = grown;
		size *= 2;
	}
	if (!text)
		return NULL;
	text[length] = '\0';
	*ret_length = length;
	return steal_ptr(&text);
}
