/* SPDX-License-Identifier: MIT */
#include "common/mounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool mounts_type_is(const char *type, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(type, name, length) == 0;
}

/*
 * "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS". Blanks in names are
 * escaped, so that " - " is the separator. The last line may have been cut, even in its type.
 */
static bool mounts_parse_line(const char *line, const char *end, struct mounts_mount *ret)
{
	const char *point, *point_end, *type, *type_end, *dot;
	size_t length;
	char head[80];
	int n = 0;

	snprintf(head, sizeof(head), "%.*s", end - line < 79 ? (int)(end - line) : 79, line);
	if (sscanf(head, "%" SCNu64 " %*d %" SCNu32 ":%" SCNu32 " %n", &ret->id, &ret->device_major,
		   &ret->device_minor, &n) != 3 ||
	    !n)
		return false;
	point = memchr(line + n, ' ', (size_t)(end - line - n));
	point_end = point ? memchr(point + 1, ' ', (size_t)(end - point - 1)) : NULL;
	type = point_end ? memmem(point_end, (size_t)(end - point_end), " - ", 3) : NULL;
	type_end = type ? memchr(type + 3, ' ', (size_t)(end - type - 3)) : NULL;
	if (!type_end || point[1] != '/')
		return false;
	ret->point = point + 1;
	ret->point_length = (size_t)(point_end - ret->point);
	type += 3;
	length = (size_t)(type_end - type);
	ret->is_autofs = mounts_type_is(type, length, "autofs");
	ret->is_overlay = mounts_type_is(type, length, "overlay");
	dot = memchr(type, '.', length);
	length = dot ? (size_t)(dot - type) : length;
	ret->is_fuse = mounts_type_is(type, length, "fuse") ||
		       mounts_type_is(type, length, "fuseblk");
	return true;
}

bool mounts_next(const char **text, const char *end, struct mounts_mount *ret, bool *ret_good)
{
	const char *line = *text, *newline;

	if (line == end)
		return false;
	newline = memchr(line, '\n', (size_t)(end - line));
	*ret_good = mounts_parse_line(line, newline ? newline : end, ret);
	*text = newline ? newline + 1 : end;
	return true;
}

bool mounts_find(const char *text, size_t length, uint64_t id, struct mounts_mount *ret)
{
	const char *end = text + length;
	struct mounts_mount m;
	bool good;

	while (mounts_next(&text, end, &m, &good)) {
		if (!good || m.id != id)
			continue;
		*ret = m;
		return true;
	}
	return false;
}

bool mounts_may_have_fuse(const char *text, size_t length)
{
	const char *end = text + length;
	struct mounts_mount m;
	bool good;

	if (length == 0 || end[-1] != '\n')
		return true;
	while (mounts_next(&text, end, &m, &good))
		if (!good || m.is_fuse)
			return true;
	return false;
}
