/* SPDX-License-Identifier: MIT */
#include "common/maps.h"

#include <string.h>
#include <sys/mman.h>

#include "common/digits.h"

/* A number with @after behind it, which is skipped; 0: whatever is there. */
static bool maps_parse_number(const char **at, const char *end, unsigned base, char after,
			      uint64_t *ret)
{
	if (!digits_read(at, end, base, ret) || (after && (*at == end || **at != after)))
		return false;
	*at += after != 0;
	return true;
}

/* "rwxp ", with '-' for what is not allowed and 's' for what is shared. */
static bool maps_parse_permissions(const char **at, const char *end, struct maps_line *line)
{
	static const uint32_t bits[] = {PROT_READ, PROT_WRITE, PROT_EXEC};
	const char *p = *at;

	if (end - p < 5 || (p[3] != 's' && p[3] != 'p') || p[4] != ' ')
		return false;
	line->prot = 0;
	for (unsigned i = 0; i < 3; i++) {
		if (p[i] == "rwx"[i])
			line->prot |= bits[i];
		else if (p[i] != '-')
			return false;
	}
	line->flags = p[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	*at += 5;
	return true;
}

bool maps_parse(const char *text, const char *end, struct maps_line *ret)
{
	const char *newline = memchr(text, '\n', (size_t)(end - text)), *at = text;
	uint64_t major, minor;

	if (newline)
		end = newline;
	ret->length = (size_t)(end - text);
	if (!maps_parse_number(&at, end, 16, '-', &ret->start) ||
	    !maps_parse_number(&at, end, 16, ' ', &ret->end) || ret->start >= ret->end ||
	    !maps_parse_permissions(&at, end, ret) ||
	    !maps_parse_number(&at, end, 16, ' ', &ret->offset) ||
	    !maps_parse_number(&at, end, 16, ':', &major) || major > UINT32_MAX ||
	    !maps_parse_number(&at, end, 16, ' ', &minor) || minor > UINT32_MAX ||
	    !maps_parse_number(&at, end, 10, 0, &ret->inode) || (at < end && *at != ' '))
		return false;
	ret->device = major << 32 | minor;
	while (at < end && *at == ' ')
		at++;
	ret->path = at;
	ret->path_length = (size_t)(end - at);
	return true;
}
