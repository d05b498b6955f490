/* SPDX-License-Identifier: MIT */
/*
 * Lines of "address type name", for modules followed by a tab and "[module]" (kernel/kallsyms.c).
 * There are no sizes: a function ends where the next symbol of any type begins. The last one of a
 * table has no end; callers ask for addresses within the kernel or the module only.
 */
#include "common/symbols/symtab.h"

#include <string.h>

#include "common/digits.h"

struct line {
	uint64_t address;
	char type;
	const char *name, *module; /* module: without brackets; NULL for the kernel proper */
	size_t name_length, module_length;
};

static bool kallsyms_parse_line(const char *at, const char *end, struct line *ret)
{
	uint64_t address;

	if (!digits_read(&at, end, 16, &address) || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	*ret = (struct line){.address = address, .type = at[1], .name = at + 3};
	for (at = ret->name; at < end && *at != '\t' && *at != ' ';)
		at++;
	ret->name_length = (size_t)(at - ret->name);
	while (at < end && (*at == '\t' || *at == ' '))
		at++;
	if (end - at > 2 && at[0] == '[' && end[-1] == ']') {
		ret->module = at + 1;
		ret->module_length = (size_t)(end - at) - 2;
	}
	return ret->name_length > 0;
}

static bool kallsyms_is_of_module(const struct line *line, const char *module)
{
	if (!module || !line->module)
		return !module && !line->module;
	return strlen(module) == line->module_length &&
	       memcmp(module, line->module, line->module_length) == 0;
}

static int kallsyms_add_symbol(struct symtab_entries *list, const struct line *line)
{
	struct symtab_entry entry = {.start = line->address, .limit = UINT64_MAX};

	if (memchr("tTwW", line->type, 4)) {
		entry.name = line->name;
		entry.name_length = line->name_length < SYMTAB_NAME_MAX
					    ? (uint32_t)line->name_length
					    : SYMTAB_NAME_MAX;
		entry.rank = line->type == 'T'   ? SYMTAB_GLOBAL
			     : line->type == 't' ? SYMTAB_LOCAL
						 : SYMTAB_WEAK;
	}
	return symtab_entries_add(list, &entry);
}

int symtab_from_kallsyms(struct symtab **ret, const char *text, size_t length, const char *module)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	const char *at = text, *end = text + length;
	bool has_address = false;
	int r;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;
		struct line line;

		if (kallsyms_parse_line(at, line_end, &line) &&
		    kallsyms_is_of_module(&line, module)) {
			r = kallsyms_add_symbol(&list, &line);
			if (r)
				return r;
			has_address = has_address || line.address;
		}
		at = newline ? newline + 1 : end;
	}
	if (!has_address)
		return SYMTAB_E_NONE;
	return symtab_build(ret, &list, true, SIZE_MAX);
}

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
