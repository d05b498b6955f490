/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/mounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS". Blanks in names are
 * escaped, so that " - " is the separator.
 */
static bool is_fuse_line(const char *line, size_t length, uint32_t device_major,
			 uint32_t device_minor)
{
	uint32_t found_major, found_minor;
	const char *type;
	char head[64];

	snprintf(head, sizeof(head), "%.*s", length < sizeof(head) ? (int)length : 63, line);
	if (sscanf(head, "%*d %*d %" SCNu32 ":%" SCNu32 " ", &found_major, &found_minor) != 2 ||
	    found_major != device_major || found_minor != device_minor)
		return false;
	type = memmem(line, length, " - ", 3);
	if (!type)
		return false;
	type += 3;
	length -= (size_t)(type - line);
	return length >= 4 && memcmp(type, "fuse", 4) == 0;
}

bool mounts_is_fuse(const char *text, size_t length, uint32_t device_major, uint32_t device_minor)
{
	while (length) {
		const char *newline = memchr(text, '\n', length);
		size_t line = newline ? (size_t)(newline - text) : length;

		if (is_fuse_line(text, line, device_major, device_minor))
			return true;
		if (!newline)
			return false;
		text += line + 1;
		length -= line + 1;
	}
	return false;
}
