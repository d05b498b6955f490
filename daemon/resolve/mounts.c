/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/mounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS". Blanks in names are
 * escaped, so that " - " is the separator.
 */
struct line {
	uint64_t id;
	uint32_t device_major, device_minor;
	const char *type;
	size_t type_length;
};

static bool mounts_parse_line(const char *line, size_t length, struct line *ret)
{
	const char *type, *end;
	char head[64];

	snprintf(head, sizeof(head), "%.*s", length < sizeof(head) ? (int)length : 63, line);
	if (sscanf(head, "%" SCNu64 " %*d %" SCNu32 ":%" SCNu32 " ", &ret->id, &ret->device_major,
		   &ret->device_minor) != 3)
		return false;
	type = memmem(line, length, " - ", 3);
	if (!type)
		return false;
	type += 3;
	/* The last line may have been cut, even in its type. */
	end = memchr(type, ' ', length - (size_t)(type - line));
	if (!end)
		return false;
	ret->type = type;
	ret->type_length = (size_t)(end - type);
	return true;
}

static bool mounts_line_is_fuse(const struct line *line)
{
	return line->type_length >= 4 && memcmp(line->type, "fuse", 4) == 0;
}

static bool mounts_line_is_overlay(const struct line *line)
{
	return line->type_length == 7 && memcmp(line->type, "overlay", 7) == 0;
}

/* Cuts the first line off. False: there is none. *ret_good: whether it is one of mountinfo. */
static bool mounts_next_line(const char **text, size_t *length, struct line *ret, bool *ret_good)
{
	const char *newline = memchr(*text, '\n', *length);
	size_t n = newline ? (size_t)(newline - *text) : *length;

	if (*length == 0)
		return false;
	*ret_good = mounts_parse_line(*text, n, ret);
	*text += newline ? n + 1 : n;
	*length -= newline ? n + 1 : n;
	return true;
}

enum mounts_kind mounts_kind(const char *text, size_t length, uint32_t device_major,
			     uint32_t device_minor)
{
	struct line line;
	bool good;

	while (length && mounts_next_line(&text, &length, &line, &good))
		if (good && line.device_major == device_major && line.device_minor == device_minor)
			return mounts_line_is_fuse(&line) ? MOUNTS_FUSE : MOUNTS_OTHER;
	return MOUNTS_ABSENT;
}

bool mounts_find(const char *text, size_t length, uint64_t id, struct mounts_mount *ret)
{
	struct line line;
	bool good;

	while (length && mounts_next_line(&text, &length, &line, &good)) {
		if (!good || line.id != id)
			continue;
		*ret = (struct mounts_mount){.device_major = line.device_major,
					     .device_minor = line.device_minor,
					     .is_fuse = mounts_line_is_fuse(&line),
					     .is_overlay = mounts_line_is_overlay(&line)};
		return true;
	}
	return false;
}

bool mounts_may_have_fuse(const char *text, size_t length)
{
	struct line line;
	bool good;

	if (length == 0 || text[length - 1] != '\n')
		return true;
	while (length && mounts_next_line(&text, &length, &line, &good))
		if (!good || mounts_line_is_fuse(&line))
			return true;
	return false;
}
