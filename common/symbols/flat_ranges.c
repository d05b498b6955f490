/* SPDX-License-Identifier: MIT */

/*
 * Ranges that overlap made flat, by a sweep over their starts: the ranges that cover the sweep's
 * place lie in a heap with the winner on top; one that has ended is dropped when it comes to the
 * top. Between two places where the winner may change one flat range is put out.
 */
#include "common/symbols/flat_ranges.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/room.h"

int flat_add(struct flat_ranges *f, const struct flat_range *range)
{
	if (range->start >= range->end)
		return 0;
	return room_append(&f->items, &f->size, &f->n, *range);
}

void flat_deinit(struct flat_ranges *f)
{
	free(f->items);
	*f = (struct flat_ranges){0};
}

/* The winner first. */
static int flat_range_order(const struct flat_range *a, const struct flat_range *b)
{
	return order_of(b->rank, a->rank) ?:
	       order_of(a->end - a->start, b->end - b->start) ?:
	       order_of(a->value, b->value);
}

static bool flat_range_wins(const struct flat_range *a, const struct flat_range *b)
{
	return flat_range_order(a, b) < 0;
}

/* Of those with one start, the winner first. */
DEFINE_ORDER(flat_range_compare, struct flat_range,
	     order_of(x->start, y->start) ?: flat_range_order(x, y))

/* Ranges that cover the place of the sweep, or have ended since; the winner first. */
struct heap {
	const struct flat_range **items;
	size_t n, size;
};

static int flat_heap_push(struct heap *h, const struct flat_range *range)
{
	size_t i = h->n;
	int r = room_append(&h->items, &h->size, &h->n, range);

	if (r)
		return r;
	while (i > 0 && flat_range_wins(range, h->items[(i - 1) / 2])) {
		h->items[i] = h->items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->items[i] = range;
	return 0;
}

static void flat_heap_pop(struct heap *h)
{
	const struct flat_range *last = h->items[--h->n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n && flat_range_wins(h->items[child + 1], h->items[child]))
			child++;
		if (!flat_range_wins(h->items[child], last))
			break;
		h->items[i] = h->items[child];
		i = child;
	}
	h->items[i] = last;
}

/* Appends [start, end) of @range, to the last one if it goes on there. */
static int flat_append_piece(struct flat_ranges *out, const struct flat_range *range,
			     uint64_t start, uint64_t end)
{
	struct flat_range *last = out->n ? &out->items[out->n - 1] : NULL;

	if (last && last->end == start && last->value == range->value &&
	    last->rank == range->rank) {
		last->end = end;
		return 0;
	}
	return flat_add(out, &(struct flat_range){
				     .start = start,
				     .end = end,
				     .rank = range->rank,
				     .value = range->value,
			     });
}

/* Puts out what covers [from, to), where no range begins. */
static int flat_sweep_interval(struct heap *h, uint64_t from, uint64_t to, struct flat_ranges *out)
{
	while (from < to) {
		const struct flat_range *top;
		uint64_t end;
		int r;

		while (h->n > 0 && h->items[0]->end <= from)
			flat_heap_pop(h);
		if (h->n == 0)
			return 0;
		top = h->items[0];
		end = top->end < to ? top->end : to;
		r = flat_append_piece(out, top, from, end);
		if (r)
			return r;
		from = end;
	}
	return 0;
}

/* Symbols come sorted by their addresses, a million of them. */
static void flat_sort(struct flat_ranges *f)
{
	size_t i = 1;

	while (i < f->n && flat_range_compare(&f->items[i - 1], &f->items[i]) <= 0)
		i++;
	if (i < f->n)
		qsort(f->items, f->n, sizeof(*f->items), flat_range_compare);
}

int flat_build(struct flat_ranges *f)
{
	cleanup(flat_deinit) struct flat_ranges out = {0};
	const struct flat_range *last = NULL;
	struct heap h = {0};
	int r = 0;

	flat_sort(f);
	for (size_t i = 0; !r && i < f->n; i++) {
		const struct flat_range *range = &f->items[i];
		uint64_t next = i + 1 < f->n ? f->items[i + 1].start : UINT64_MAX;
		/* Else all of it is the last one's, whatever is there: a list that many share. */
		bool is_new = !last || range->start != last->start || range->end > last->end;

		last = is_new ? range : last;
		/* Most often nothing else is there. */
		if (is_new && h.n == 0 && range->end <= next) {
			r = flat_append_piece(&out, range, range->start, range->end);
			continue;
		}
		r = is_new ? flat_heap_push(&h, range) : 0;
		r = r ?: flat_sweep_interval(&h, range->start, next, &out);
		while (h.n > 0 && h.items[0]->end <= next)
			flat_heap_pop(&h);
	}
	free(h.items);
	if (!r) {
		struct flat_ranges whole = *f;

		*f = out;
		out = whole;
	}
	return r;
}

const struct flat_range *flat_find(const struct flat_ranges *f, uint64_t address)
{
	size_t n = partition_point(f->n, i, f->items[i].start <= address);

	if (n == 0 || address >= f->items[n - 1].end)
		return NULL;
	return &f->items[n - 1];
}
