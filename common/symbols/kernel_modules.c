/* SPDX-License-Identifier: MIT */
#include "common/symbols/kernel_modules.h"

#include <string.h>

#include "common/digits.h"

/* Moves past the rest of a word and the blanks behind it. */
static void kernel_module_skip_word(const char **at, const char *end)
{
	while (*at < end && **at != ' ')
		++*at;
	while (*at < end && **at == ' ')
		++*at;
}

bool kernel_module_next(const char **at, const char *end, struct kernel_module_line *ret)
{
	const char *p = *at, *line_end;

	*ret = (struct kernel_module_line){0};
	if (p >= end)
		return false;
	line_end = memchr(p, '\n', (size_t)(end - p));
	*at = line_end ? line_end + 1 : end;
	if (!line_end)
		line_end = end;

	ret->name = p;
	kernel_module_skip_word(&p, line_end);
	if (!digits_read(&p, line_end, 10, &ret->size))
		return true;
	for (unsigned i = 0; i < 4; i++) /* the size's end, uses, users, state */
		kernel_module_skip_word(&p, line_end);
	if (line_end - p < 3 || p[0] != '0' || p[1] != 'x')
		return true;
	p += 2;
	if (!digits_read(&p, line_end, 16, &ret->start))
		return true;
	ret->name_length = strcspn(ret->name, " \n");
	return true;
}
