/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/mounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS". Blanks in names are
 * escaped, so that " - " is the separator.
 */
static enum mounts_kind kind_of_line(const char *line, size_t length, uint32_t device_major,
				     uint32_t device_minor)
{
	uint32_t found_major, found_minor;
	const char *type;
	char head[64];

	snprintf(head, sizeof(head), "%.*s", length < sizeof(head) ? (int)length : 63, line);
	if (sscanf(head, "%*d %*d %" SCNu32 ":%" SCNu32 " ", &found_major, &found_minor) != 2 ||
	    found_major != device_major || found_minor != device_minor)
		return MOUNTS_ABSENT;
	type = memmem(line, length, " - ", 3);
	if (!type)
		return MOUNTS_ABSENT;
	type += 3;
	length -= (size_t)(type - line);
	/* The last line may have been cut, even in its type. */
	if (!memchr(type, ' ', length))
		return MOUNTS_ABSENT;
	return length >= 4 && memcmp(type, "fuse", 4) == 0 ? MOUNTS_FUSE : MOUNTS_OTHER;
}

enum mounts_kind mounts_kind(const char *text, size_t length, uint32_t device_major,
			     uint32_t device_minor)
{
	enum mounts_kind kind;

	while (length) {
		const char *newline = memchr(text, '\n', length);
		size_t line = newline ? (size_t)(newline - text) : length;

		kind = kind_of_line(text, line, device_major, device_minor);
		if (kind != MOUNTS_ABSENT || !newline)
			return kind;
		text += line + 1;
		length -= line + 1;
	}
	return MOUNTS_ABSENT;
}
