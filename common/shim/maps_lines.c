/* SPDX-License-Identifier: MIT */
#include "common/shim/maps_lines.h"

#include <string.h>

/* A number that @after follows; @after is skipped. */
static bool maps_line_parse_number(const char **at, const char *end, unsigned base, char after,
				   uint64_t *ret)
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
	if (!maps_line_parse_number(&at, end, 16, '-', &ret->start) ||
	    !maps_line_parse_number(&at, end, 16, ' ', &ret->end) || end - at < 5)
		return false;
	ret->is_executable = at[2] == 'x';
	at += 5;
	if (!maps_line_parse_number(&at, end, 16, ' ', &ret->offset) ||
	    !maps_line_parse_number(&at, end, 16, ':', &major) ||
	    !maps_line_parse_number(&at, end, 16, ' ', &minor))
		return false;
	ret->device = major << 32 | minor;
	/* Nothing follows the inode's number but a blank, or the path. */
	if (!maps_line_parse_number(&at, end, 10, ' ', &ret->inode))
		return false;
	while (at < end && *at == ' ')
		at++;
	ret->path = at;
	ret->path_length = (size_t)(end - at);
	return ret->start < ret->end;
}
