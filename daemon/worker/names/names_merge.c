/* SPDX-License-Identifier: MIT */

/*
 * A sweep from low to high addresses. For each source there is a stack of the sized symbols that
 * began, of which the topmost that has not ended is this source's answer: it began last, or, of
 * those that began together, was sorted last. The answer is that of the first source which has
 * one. It holds until it ends or another symbol begins.
 */
#include "daemon/worker/names/names_merge.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/room.h"

struct stack {
	uint32_t *items; /* indices of entries */
	size_t n, n_allocated;
};

struct sweep {
	const struct symtab_entry *entries;
	size_t n;
	uint64_t cursor; /* all before has its answer */
	struct stack open[NAMES_MERGE_SOURCES];
	size_t last[NAMES_MERGE_SOURCES]; /* whose piece each source got last */
	struct symtab_entries *ret;
};

static void names_merge_sweep_deinit(struct sweep *s)
{
	for (unsigned i = 0; i < NAMES_MERGE_SOURCES; i++)
		free(s->open[i].items);
}

/* The answer at the cursor; false: no sized symbol covers it. */
static bool names_merge_find_top(struct sweep *s, size_t *ret)
{
	for (unsigned i = 0; i < NAMES_MERGE_SOURCES; i++) {
		struct stack *open = &s->open[i];

		while (open->n > 0 &&
		       symtab_entry_end(&s->entries[open->items[open->n - 1]]) <= s->cursor)
			open->n--;
		if (open->n > 0) {
			*ret = open->items[open->n - 1];
			return true;
		}
	}
	return false;
}

static int names_merge_emit(struct sweep *s, size_t entry, uint64_t start, uint64_t end)
{
	struct symtab_entry piece = s->entries[entry];
	struct symtab_entries *list = &s->ret[piece.source];

	if (list->n > 0 && s->last[piece.source] == entry &&
	    symtab_entry_end(&list->entries[list->n - 1]) == start) {
		list->entries[list->n - 1].size += end - start;
		return 0;
	}
	s->last[piece.source] = entry;
	piece.start = start;
	piece.size = end - start;
	return symtab_entries_add(list, &piece);
}

/* Moves the cursor to @to, before which nothing more begins. */
static int names_merge_advance(struct sweep *s, uint64_t to)
{
	size_t top;

	while (s->cursor < to && names_merge_find_top(s, &top)) {
		uint64_t end = symtab_entry_end(&s->entries[top]);
		int r;

		if (end > to)
			end = to;
		r = names_merge_emit(s, top, s->cursor, end);
		if (r)
			return r;
		s->cursor = end;
	}
	s->cursor = to;
	return 0;
}

/* What begins at the cursor: entries from @from to before @to. */
static int names_merge_open_entries(struct sweep *s, size_t from, size_t to)
{
	size_t best = to, top;
	uint64_t end;

	for (size_t i = from; i < to; i++) {
		const struct symtab_entry *e = &s->entries[i];
		struct stack *open = &s->open[e->source];

		if (!e->name)
			continue;
		if (e->size) {
			if (room_append(&open->items, &open->n_allocated, &open->n, (uint32_t)i))
				return -ENOMEM;
		} else if (best == to || e->source <= s->entries[best].source) {
			best = i;
		}
	}
	if (best == to || names_merge_find_top(s, &top))
		return 0;
	end = s->entries[best].limit;
	if (to < s->n && s->entries[to].start < end)
		end = s->entries[to].start;
	return end > s->cursor ? names_merge_emit(s, best, s->cursor, end) : 0;
}

int names_merge(struct symtab_entries *list, struct symtab_entries ret[NAMES_MERGE_SOURCES])
{
	cleanup(names_merge_sweep_deinit) struct sweep s = {.ret = ret};

	symtab_entries_sort(list);
	s.entries = list->entries;
	s.n = list->n;
	for (size_t i = 0, next; i < s.n; i = next) {
		int r = names_merge_advance(&s, s.entries[i].start);

		if (r)
			return r;
		for (next = i + 1; next < s.n && s.entries[next].start == s.entries[i].start;)
			next++;
		r = names_merge_open_entries(&s, i, next);
		if (r)
			return r;
	}
	return names_merge_advance(&s, UINT64_MAX);
}
