/* SPDX-License-Identifier: MIT */
/*
 * A mountinfo text is parsed a line at a time, without copying. A line that cannot be parsed counts
 * as FUSE wherever FUSE would matter. An overlay is followed through the directories in its options
 * to the mounts that hold them.
 */
#include "common/mounts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/span.h"

/* Overlays over overlays: FILESYSTEM_MAX_STACK_DEPTH (linux/fs.h) is 2. */
#define OVERLAYS_BELOW_MAX 2

/*
 * "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS". Blanks in names are
 * escaped, so that " - " is the separator. The last line may have been cut, even in its type.
 */
static bool mounts_parse_line(const char *line, const char *end, struct mounts_mount *ret)
{
	const char *point, *point_end, *type_at, *type_end, *source_end;
	struct span type, kind;
	char head[80];
	int n = 0;

	snprintf(head, sizeof(head), "%.*s", end - line < 79 ? (int)(end - line) : 79, line);
	if (sscanf(head, "%" SCNu64 " %*d %" SCNu32 ":%" SCNu32 " %n", &ret->id, &ret->device_major,
		   &ret->device_minor, &n) != 3 ||
	    !n)
		return false;
	point = memchr(line + n, ' ', (size_t)(end - line - n));
	point_end = point ? memchr(point + 1, ' ', (size_t)(end - point - 1)) : NULL;
	type_at = point_end ? memmem(point_end, (size_t)(end - point_end), " - ", 3) : NULL;
	type_end = type_at ? memchr(type_at + 3, ' ', (size_t)(end - type_at - 3)) : NULL;
	if (!type_end || point[1] != '/')
		return false;
	ret->point = point + 1;
	ret->point_length = (size_t)(point_end - ret->point);
	source_end = memchr(type_end + 1, ' ', (size_t)(end - type_end - 1));
	ret->options = source_end ? source_end + 1 : end;
	ret->options_length = (size_t)(end - ret->options);
	type = (struct span){type_at + 3, (size_t)(type_end - type_at - 3)};
	ret->is_autofs = span_is(type, "autofs");
	ret->is_overlay = span_is(type, "overlay");
	ret->is_fusectl = span_is(type, "fusectl");
	span_cut(&type, '.', &kind);
	ret->is_fuse = span_is(kind, "fuse") || span_is(kind, "fuseblk");
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

/* Blanks, backslashes and, in options, commas are written in octal: \040. */
static char mounts_next_char(const char **at, const char *end)
{
	const char *c = *at;
	bool is_octal = *c == '\\' && end - c >= 4;

	for (int i = 1; is_octal && i < 4; i++)
		is_octal = c[i] >= '0' && c[i] < '8';
	*at += is_octal ? 4 : 1;
	return is_octal ? (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0')) : *c;
}

size_t mounts_covers(const struct mounts_mount *m, const char *path)
{
	const char *end = m->point + m->point_length;
	size_t n = 0;

	for (const char *at = m->point; at < end; n++) {
		char c = mounts_next_char(&at, end);

		if (!c || path[n] != c)
			return 0;
	}
	return n == 1 || path[n] == '/' || !path[n] ? n : 0;
}

/*
 * The next of an overlay's options, without its name; "lowerdir=/a:/b" is two of them. Backslashes
 * before colons are the overlay's own way to escape (Documentation/filesystems/overlayfs.rst).
 */
static bool mounts_next_option(const char **at, const char *end, char ret[PATH_MAX])
{
	bool is_escaped = false;
	size_t n = 0;

	if (*at == end)
		return false;
	ret[0] = '\0';
	while (*at < end) {
		char raw = **at, c = mounts_next_char(at, end);

		if (!is_escaped && (raw == ',' || raw == ':'))
			break;
		is_escaped = c == '\\' && !is_escaped;
		if (raw == '=' && ret[0] != '/')
			n = 0;
		else if (!is_escaped && n < PATH_MAX - 1)
			ret[n++] = c;
	}
	ret[n] = '\0';
	return true;
}

static bool overlay_is_over(const struct mounts_mount *overlay, const struct mounts_mount *m)
{
	const char *at = overlay->options, *end = at + overlay->options_length;
	char path[PATH_MAX];

	while (mounts_next_option(&at, end, path))
		if (mounts_covers(m, path))
			return true;
	return false;
}

static bool overlay_reaches_fuse(const struct mounts_mount *overlay, const char *text,
				 const char *end, unsigned n_below)
{
	const char *at = text;
	struct mounts_mount m;
	bool good;

	while (mounts_next(&at, end, &m, &good)) {
		if (!good || !(m.is_fuse || (m.is_overlay && n_below)) ||
		    !overlay_is_over(overlay, &m))
			continue;
		if (m.is_fuse || overlay_reaches_fuse(&m, text, end, n_below - 1))
			return true;
	}
	return false;
}

bool mounts_overlay_has_fuse(const struct mounts_mount *overlay, const char *text, size_t length)
{
	return overlay_reaches_fuse(overlay, text, text + length, OVERLAYS_BELOW_MAX);
}
