/* SPDX-License-Identifier: MIT */
/*
 * The table: three arrays of 32 bits per symbol (start, size, name), sorted by start, which is
 * kept as the distance from the first symbol; a fourth array holds the high halves in the rare
 * table that spans more than 4 GiB. A search touches the first array only.
 *
 * Symbols may lie inside others (assembly). When the nearest symbol before an address has ended
 * already, the one to ask next is the nearest earlier one that ends later; where there is one at
 * all, a link says which. Links are few, so they are a sorted list beside the table.
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

/* Real files nest two deep; without a bound a hostile one could make each look-up linear. */
#define LINKS_FOLLOWED_MAX 64
#define NAME_COMPARED      1024 /* bytes */

struct link {
	uint32_t from, to; /* indices of symbols */
};

struct symtab {
	uint64_t base;
	uint32_t n_symbols, n_links;
	uint32_t *starts; /* low halves of the distance from base */
	uint32_t *highs;  /* high halves, or NULL: all 0 */
	uint32_t *sizes;  /* UINT32_MAX: that or more */
	uint32_t *names;  /* offsets into text */
	struct link *links;
	char *text;
	size_t text_bytes;
};

void symtab_entries_deinit(struct symtab_entries *list)
{
	free(list->entries);
	*list = (struct symtab_entries){0};
}

int symtab_entries_add(struct symtab_entries *list, const struct symtab_entry *entry)
{
	return room_append(&list->entries, &list->n_allocated, &list->n, *entry);
}

void symtab_free(struct symtab *symtab)
{
	if (!symtab)
		return;
	free(symtab->starts);
	free(symtab->highs);
	free(symtab->sizes);
	free(symtab->names);
	free(symtab->links);
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

/* Sizes the unsized symbols. One that lies in a sized symbol is a label there: it covers nothing.
 */
static void size_unsized(struct symtab_entry *entries, size_t n)
{
	uint64_t covered = 0; /* end of the sized symbols that began so far */

	for (size_t i = 0, next; i < n; i = next) {
		for (next = i; next < n && entries[next].start == entries[i].start; next++)
			if (entries[next].name && entries[next].size &&
			    symtab_entry_end(&entries[next]) > covered)
				covered = symtab_entry_end(&entries[next]);
		for (size_t k = i; k < next && entries[k].size == 0; k++) {
			struct symtab_entry *e = &entries[k];
			uint64_t end = e->limit;

			if (next < n && entries[next].start < end)
				end = entries[next].start;
			if (e->start >= covered && end > e->start)
				e->size = end - e->start;
		}
	}
}

/* Removes what has no name, and unless @keep_all what no look-up could yield. Returns what stays.
 */
static size_t symtab_drop_shadowed(struct symtab_entry *entries, size_t n, bool keep_all)
{
	size_t kept = n;

	/* From the back, because the preferred one of an address comes last. */
	for (size_t i = n, best = 0; i-- > 0;) {
		bool is_new = best == 0 || entries[i].start != entries[kept].start;
		bool wins = is_new ? entries[i].size > 0 : entries[i].size > entries[best].size;

		if (!entries[i].name || (!wins && !keep_all))
			continue;
		entries[--kept] = entries[i];
		if (is_new || wins)
			best = kept;
	}
	memmove(entries, entries + kept, (n - kept) * sizeof(*entries));
	return n - kept;
}

/* Finds for each symbol the nearest earlier one that ends later: a stack of falling ends. */
static int link_symbols(struct symtab *s, const struct symtab_entry *entries)
{
	cleanup(freep) uint32_t *open = malloc(sizeof(*open) * s->n_symbols);
	size_t n_open = 0, n_allocated = 0;

	if (!open)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < s->n_symbols; i++) {
		uint64_t end = symtab_entry_end(&entries[i]);

		while (n_open > 0 && symtab_entry_end(&entries[open[n_open - 1]]) <= end)
			n_open--;
		if (n_open > 0 && room_append(&s->links, &n_allocated, &s->n_links,
					      (struct link){i, open[n_open - 1]}))
			return -ENOMEM;
		open[n_open++] = i;
	}
	return 0;
}

static size_t suffix_length(const struct symtab_entry *e)
{
	return e->is_stub ? strlen(SYMTAB_STUB_SUFFIX) : 0;
}

/* Drops the symbols whose names would not fit into @names_max, and adds up the rest. */
static size_t fit_names(struct symtab_entry *entries, size_t n, size_t names_max, size_t *ret_bytes)
{
	size_t kept = 0, bytes = 0;

	for (size_t i = 0; i < n; i++) {
		size_t length = (size_t)entries[i].name_length + suffix_length(&entries[i]) + 1;

		if (length > names_max - bytes || kept == UINT32_MAX)
			continue;
		bytes += length;
		entries[kept++] = entries[i];
	}
	*ret_bytes = bytes;
	return kept;
}

static int symtab_fill(struct symtab *s, const struct symtab_entry *entries)
{
	size_t n = s->n_symbols, at = 0;

	s->base = entries[0].start;
	s->starts = malloc(sizeof(*s->starts) * n);
	s->sizes = malloc(sizeof(*s->sizes) * n);
	s->names = malloc(sizeof(*s->names) * n);
	s->text = malloc(s->text_bytes);
	if (!s->starts || !s->sizes || !s->names || !s->text)
		return error_origin(-ENOMEM);
	if (entries[n - 1].start - s->base > UINT32_MAX) {
		s->highs = malloc(sizeof(*s->highs) * n);
		if (!s->highs)
			return error_origin(-ENOMEM);
	}
	for (size_t i = 0; i < n; i++) {
		const struct symtab_entry *e = &entries[i];
		uint64_t distance = e->start - s->base;

		s->starts[i] = (uint32_t)distance;
		if (s->highs)
			s->highs[i] = (uint32_t)(distance >> 32);
		s->sizes[i] = e->size < UINT32_MAX ? (uint32_t)e->size : UINT32_MAX;
		s->names[i] = (uint32_t)at;
		memcpy(s->text + at, e->name, e->name_length);
		at += e->name_length;
		memcpy(s->text + at, SYMTAB_STUB_SUFFIX, suffix_length(e));
		at += suffix_length(e);
		s->text[at++] = '\0';
	}
	return link_symbols(s, entries);
}

int symtab_build(struct symtab **ret, struct symtab_entries *list, bool keep_all, size_t names_max)
{
	cleanup(symtab_freep) struct symtab *s = NULL;
	size_t n;
	int r;

	if (list->n == 0)
		return SYMTAB_E_NONE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_origin(-ENOMEM);
	symtab_entries_sort(list);
	size_unsized(list->entries, list->n);
	n = symtab_drop_shadowed(list->entries, list->n, keep_all);
	n = fit_names(list->entries, n, names_max < UINT32_MAX ? names_max : UINT32_MAX,
		      &s->text_bytes);
	if (n == 0)
		return SYMTAB_E_NONE;
	s->n_symbols = (uint32_t)n;
	r = symtab_fill(s, list->entries);
	if (!r)
		*ret = steal_ptr(&s);
	return r;
}

static uint64_t symtab_distance(const struct symtab *s, uint32_t i)
{
	return s->starts[i] | (s->highs ? (uint64_t)s->highs[i] << 32 : 0);
}

/* The number of symbols that start at or before @distance from the base. */
static uint32_t symtab_count_before(const struct symtab *s, uint64_t distance)
{
	return partition_point(s->n_symbols, i, symtab_distance(s, i) <= distance);
}

/* Where @from's link leads, or false. */
static bool symtab_follow_link(const struct symtab *s, uint32_t from, uint32_t *ret)
{
	size_t at = partition_point(s->n_links, i, s->links[i].from < from);

	if (at == s->n_links || s->links[at].from != from)
		return false;
	*ret = s->links[at].to;
	return true;
}

bool symtab_find(const struct symtab *symtab, uint64_t address, struct symtab_symbol *ret)
{
	uint64_t distance = address - symtab->base;
	uint32_t i;

	if (address < symtab->base)
		return false;
	i = symtab_count_before(symtab, distance) - 1;
	for (unsigned n = 0; distance - symtab_distance(symtab, i) >= symtab->sizes[i]; n++)
		if (n == LINKS_FOLLOWED_MAX || !symtab_follow_link(symtab, i, &i))
			return false;
	*ret = (struct symtab_symbol){
		.name = symtab->text + symtab->names[i],
		.start = symtab->base + symtab_distance(symtab, i),
		.size = symtab->sizes[i],
	};
	return true;
}

static uint64_t symtab_symbol_end(const struct symtab *s, uint32_t i)
{
	uint64_t start = s->base + symtab_distance(s, i);

	return start > UINT64_MAX - s->sizes[i] ? UINT64_MAX : start + s->sizes[i];
}

void symtab_gap(const struct symtab *symtab, uint64_t address, uint64_t *ret_start,
		uint64_t *ret_end)
{
	uint32_t before, i;
	unsigned n = 0;

	*ret_start = 0;
	*ret_end = UINT64_MAX;
	if (address < symtab->base) {
		*ret_end = symtab->base;
		return;
	}
	before = symtab_count_before(symtab, address - symtab->base);
	if (before < symtab->n_symbols)
		*ret_end = symtab->base + symtab_distance(symtab, before);
	/* The last link leads to the one that ends last of all. */
	i = before - 1;
	while (n < LINKS_FOLLOWED_MAX && symtab_follow_link(symtab, i, &i))
		n++;
	*ret_start = n < LINKS_FOLLOWED_MAX ? symtab_symbol_end(symtab, i) : address;
}

bool symtab_address(const struct symtab *symtab, const char *name, uint64_t *ret)
{
	for (uint32_t i = 0; i < symtab->n_symbols; i++) {
		if (strcmp(symtab->text + symtab->names[i], name) == 0) {
			*ret = symtab->base + symtab_distance(symtab, i);
			return true;
		}
	}
	return false;
}

size_t symtab_bytes(const struct symtab *symtab)
{
	size_t per_symbol = sizeof(*symtab->starts) + sizeof(*symtab->sizes) +
			    sizeof(*symtab->names) + (symtab->highs ? sizeof(*symtab->highs) : 0);

	return sizeof(*symtab) + symtab->n_symbols * per_symbol +
	       symtab->n_links * sizeof(*symtab->links) + symtab->text_bytes;
}

struct symtab_line {
	uint64_t address;
	char type;
	const char *name, *module; /* module: without brackets; NULL for the kernel proper */
	size_t name_length, module_length;
};

static bool kallsyms_parse_line(const char *at, const char *end, struct symtab_line *ret)
{
	uint64_t address;

	if (!digits_read(&at, end, 16, &address) || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	*ret = (struct symtab_line){.address = address, .type = at[1], .name = at + 3};
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

static bool kallsyms_is_of_module(const struct symtab_line *line, const char *module)
{
	if (!module || !line->module)
		return !module && !line->module;
	return strlen(module) == line->module_length &&
	       memcmp(module, line->module, line->module_length) == 0;
}

static int kallsyms_add_symbol(struct symtab_entries *list, const struct symtab_line *line)
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
		struct symtab_line line;

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
