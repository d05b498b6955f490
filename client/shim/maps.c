/* SPDX-License-Identifier: MIT */
#include "client/shim/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

#define BYTES_FIRST (64u << 10)
#define BYTES_MAX   (64u << 20)

/* A number that @after follows; @after is skipped. */
static bool take_number(const char **at, const char *end, unsigned base, char after, uint64_t *ret)
{
	const char *digits = "0123456789abcdef", *found;
	uint64_t value = 0;
	const char *p = *at;

	for (; p < end && *p && (found = memchr(digits, *p, base)) != NULL; p++)
		value = value * base + (uint64_t)(found - digits);
	if (p == *at || p == end || *p != after)
		return false;
	*ret = value;
	*at = p + 1;
	return true;
}

bool maps_parse(const char *text, const char *end, struct maps_line *ret)
{
	const char *newline = memchr(text, '\n', (size_t)(end - text)), *at = text;
	uint64_t major, minor;

	if (newline)
		end = newline;
	ret->length = (size_t)(end - text);
	if (!take_number(&at, end, 16, '-', &ret->start) ||
	    !take_number(&at, end, 16, ' ', &ret->end) || end - at < 5)
		return false;
	ret->is_executable = at[2] == 'x';
	at += 5;
	if (!take_number(&at, end, 16, ' ', &ret->offset) ||
	    !take_number(&at, end, 16, ':', &major) || !take_number(&at, end, 16, ' ', &minor))
		return false;
	ret->device = major << 32 | minor;
	/* Nothing follows the inode's number but a blank, or the path. */
	if (!take_number(&at, end, 10, ' ', &ret->inode))
		return false;
	while (at < end && *at == ' ')
		at++;
	ret->path = at;
	ret->path_length = (size_t)(end - at);
	return ret->start < ret->end;
}

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
