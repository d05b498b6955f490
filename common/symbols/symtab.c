/* SPDX-License-Identifier: MIT */
/*
 * The table: a row for each range of addresses with one name, sorted, none overlapping. What the
 * symbols of a list say is made flat first (flat_ranges.h): of those that cover an address the one
 * that is sorted last is preferred, if none of a lower source covers it.
 *
 * The kernel's symbols are lines of "address type name", for modules followed by a tab and
 * "[module]" (kernel/kallsyms.c). There are no sizes: a function ends where the next symbol of any
 * type begins. The last one of a table has no end; callers ask for addresses within the kernel or
 * the module only.
 */
#include "common/symbols/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/digits.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/room.h"
#include "common/span.h"
#include "common/symbols/flat_ranges.h"

#define NAME_COMPARED 1024 /* bytes */

struct symtab_row {
	uint64_t start;
	uint32_t size; /* UINT32_MAX: that or more */
	uint32_t name; /* offset into text: a byte that is the source, and the name */
};

struct symtab {
	struct symtab_row *rows;
	size_t n;
	char *text;
	size_t text_bytes;
	uint64_t kernel_start, kernel_end; /* of kallsyms: _stext and _etext; 0: not there */
};

void symtab_entries_deinit(struct symtab_entries *list)
{
	free(list->entries);
	*list = (struct symtab_entries){0};
}

static bool symtab_is_covered(const struct symtab_entries *list, const struct symtab_entry *entry)
{
	size_t n = partition_point(list->n_sorted, i, list->entries[i].start <= entry->start);
	const struct symtab_entry *by = n ? &list->entries[n - 1] : NULL;

	return by && by->name && by->size && by->source < entry->source &&
	       symtab_entry_end(entry) <= symtab_entry_end(by);
}

int symtab_entries_add(struct symtab_entries *list, const struct symtab_entry *entry)
{
	if (symtab_is_covered(list, entry))
		return 0;
	return room_append(&list->entries, &list->n_allocated, &list->n, *entry);
}

void symtab_free(struct symtab *symtab)
{
	if (!symtab)
		return;
	free(symtab->rows);
	free(symtab->text);
	free(symtab);
}

/*
 * Every other key of the order. Names are no part of it: they may be long, alike and overlap in
 * the file, which would make a sort of a million of them endless.
 */
static int symtab_entry_compare(const void *pa, const void *pb)
{
	const struct symtab_entry *a = pa, *b = pb;

	return order_of(a->start, b->start) ?:
	       order_of(!b->name, !a->name) ?:
	       order_of(!b->size, !a->size) ?:
	       order_of(b->source, a->source) ?:
	       order_of(a->rank, b->rank) ?:
	       order_of(a->size, b->size);
}

static bool symtab_name_is_before(const struct symtab_entry *a, const struct symtab_entry *b)
{
	uint32_t a_length = a->name_length < NAME_COMPARED ? a->name_length : NAME_COMPARED;
	uint32_t b_length = b->name_length < NAME_COMPARED ? b->name_length : NAME_COMPARED;
	int r = memcmp(a->name, b->name, a_length < b_length ? a_length : b_length);

	return r ? r < 0 : a_length < b_length;
}

void symtab_entries_sort(struct symtab_entries *list)
{
	struct symtab_entry *entries = list->entries;

	list->n_sorted = list->n;
	if (list->n == 0)
		return;
	qsort(entries, list->n, sizeof(*entries), symtab_entry_compare);
	for (size_t i = 0, next; i < list->n; i = next) {
		size_t best = i;

		for (next = i + 1; next < list->n; next++) {
			if (symtab_entry_compare(&entries[i], &entries[next]) != 0)
				break;
			if (entries[i].name &&
			    symtab_name_is_before(&entries[next], &entries[best]))
				best = next;
		}
		if (best != next - 1) {
			struct symtab_entry entry = entries[best];

			entries[best] = entries[next - 1];
			entries[next - 1] = entry;
		}
	}
}

/*
 * The ranges that the sorted symbols of @list claim; values are their places. An unsized one that
 * lies in a sized symbol is a label there: it claims nothing. Else it ends where the next begins.
 */
static int symtab_claim_ranges(const struct symtab_entries *list, struct flat_ranges *ret)
{
	const struct symtab_entry *entries = list->entries;
	uint64_t covered = 0; /* end of the sized symbols that began so far */
	int r = 0;

	for (size_t i = 0; !r && i < list->n; i++) {
		const struct symtab_entry *e = &entries[i];
		uint64_t preference = SYMTAB_SOURCES - 1 - e->source;
		struct flat_range range = {
			.start = e->start,
			.end = e->size ? symtab_entry_end(e) : e->limit,
			.rank = (uint32_t)(preference * list->n + i),
			.value = (uint32_t)i,
		};

		if (!e->name)
			continue;
		if (e->size && range.end > covered)
			covered = range.end;
		if (!e->size && i + 1 < list->n && entries[i + 1].start < range.end)
			range.end = entries[i + 1].start;
		/* Of those that begin together, the sized ones come last. */
		if (e->size || e->start >= covered)
			r = flat_add(ret, &range);
	}
	return r;
}

static size_t suffix_length(const struct symtab_entry *e)
{
	return e->is_stub ? strlen(SYMTAB_STUB_SUFFIX) : 0;
}

/* Drops the ranges whose names would not fit into @names_max, and adds up the rest. */
static size_t fit_names(const struct symtab_entry *entries, struct flat_ranges *ranges,
			size_t names_max)
{
	size_t kept = 0, bytes = 0;

	for (size_t i = 0; i < ranges->n; i++) {
		const struct symtab_entry *e = &entries[ranges->items[i].value];
		size_t length = 1 + (size_t)e->name_length + suffix_length(e) + 1;

		if (length > names_max - bytes)
			continue;
		bytes += length;
		ranges->items[kept++] = ranges->items[i];
	}
	ranges->n = kept;
	return bytes;
}

static int symtab_fill(struct symtab *s, const struct symtab_entry *entries,
		       const struct flat_ranges *ranges)
{
	char *at;

	s->n = ranges->n;
	s->rows = calloc(s->n + 1, sizeof(*s->rows));
	s->text = at = malloc(s->text_bytes + 1);
	if (!s->rows || !s->text)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < s->n; i++) {
		const struct flat_range *range = &ranges->items[i];
		const struct symtab_entry *e = &entries[range->value];
		uint64_t size = range->end - range->start;

		s->rows[i] = (struct symtab_row){
			.start = range->start,
			.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
			.name = (uint32_t)(at - s->text),
		};
		*at++ = (char)e->source;
		at = mempcpy(at, e->name, e->name_length);
		at = mempcpy(at, SYMTAB_STUB_SUFFIX, suffix_length(e));
		*at++ = '\0';
	}
	return 0;
}

int symtab_build(struct symtab **ret, struct symtab_entries *list, size_t names_max)
{
	cleanup(symtab_freep) struct symtab *s = calloc(1, sizeof(*s));
	cleanup(flat_deinit) struct flat_ranges ranges = {0};
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	/* Numbers of preference and offsets of names have 32 bits. */
	if (list->n > UINT32_MAX / SYMTAB_SOURCES)
		return error_origin(-E2BIG);
	symtab_entries_sort(list);
	r = symtab_claim_ranges(list, &ranges) ?: flat_build(&ranges);
	if (r)
		return r;
	s->text_bytes = fit_names(list->entries, &ranges,
				  names_max < UINT32_MAX ? names_max : UINT32_MAX);
	r = symtab_fill(s, list->entries, &ranges);
	if (!r)
		*ret = steal_ptr(&s);
	return r;
}

bool symtab_find(const struct symtab *symtab, uint64_t address, struct symtab_symbol *ret)
{
	size_t n = partition_point(symtab->n, i, symtab->rows[i].start <= address);
	const struct symtab_row *row = n ? &symtab->rows[n - 1] : NULL;

	*ret = (struct symtab_symbol){.start = address, .size = 1};
	if (row && address - row->start < row->size) {
		*ret = (struct symtab_symbol){
			.name = symtab->text + row->name + 1,
			.start = row->start,
			.size = row->size,
			.source = (unsigned char)symtab->text[row->name],
		};
		return true;
	}
	/* The last address of all lies in no range that has an end. */
	if (address < UINT64_MAX) {
		ret->start = row ? row->start + row->size : 0;
		ret->size = (n < symtab->n ? symtab->rows[n].start : UINT64_MAX) - ret->start;
	}
	return false;
}

bool symtab_kernel_text(const struct symtab *symtab, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = symtab->kernel_start;
	*ret_end = symtab->kernel_end;
	return *ret_start && *ret_end;
}

size_t symtab_bytes(const struct symtab *symtab)
{
	return sizeof(*symtab) + symtab->n * sizeof(*symtab->rows) + symtab->text_bytes;
}

struct symtab_line {
	uint64_t address;
	char type;
	struct span name, module; /* module: without brackets; empty for the kernel proper */
};

static bool kallsyms_parse_line(const char *at, const char *end, struct symtab_line *ret)
{
	uint64_t address;

	if (!digits_read(&at, end, 16, &address) || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	*ret = (struct symtab_line){.address = address, .type = at[1], .name = {.at = at + 3}};
	for (at = ret->name.at; at < end && *at != '\t' && *at != ' ';)
		at++;
	ret->name.length = (size_t)(at - ret->name.at);
	while (at < end && (*at == '\t' || *at == ' '))
		at++;
	if (end - at > 2 && at[0] == '[' && end[-1] == ']')
		ret->module = (struct span){at + 1, (size_t)(end - at) - 2};
	return ret->name.length > 0;
}

static int kallsyms_add_symbol(struct symtab_entries *list, const struct symtab_line *line)
{
	struct symtab_entry entry = {.start = line->address, .limit = UINT64_MAX};

	if (memchr("tTwW", line->type, 4)) {
		entry.name = line->name.at;
		entry.name_length = line->name.length < SYMTAB_NAME_MAX
					    ? (uint32_t)line->name.length
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
	uint64_t kernel_start = 0, kernel_end = 0;
	bool has_address = false;
	int r;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;
		struct symtab_line line;

		if (kallsyms_parse_line(at, line_end, &line) &&
		    span_is(line.module, module ? module : "")) {
			r = kallsyms_add_symbol(&list, &line);
			if (r)
				return r;
			has_address |= line.address && list.entries[list.n - 1].name;
			if (span_is(line.name, "_stext"))
				kernel_start = line.address;
			else if (span_is(line.name, "_etext"))
				kernel_end = line.address;
		}
		at = newline ? newline + 1 : end;
	}
	if (!has_address)
		return SYMTAB_E_NONE;
	r = symtab_build(ret, &list, SIZE_MAX);
	if (r)
		return r;
	(*ret)->kernel_start = kernel_start;
	(*ret)->kernel_end = kernel_end;
	return SYMTAB_E_OK;
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
