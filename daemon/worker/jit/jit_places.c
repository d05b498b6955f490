/* SPDX-License-Identifier: MIT */
/*
 * A place is a range of addresses with the same newest code, as far as it goes without a break, and
 * there is one for each range that somebody asked for: places do not overlap, and each has one or
 * more of the addresses, which follow each other. It is written down at the first of them, so that
 * the place of an address is found by going back to the nearest such mark.
 *
 * New code divides the places that it begins and ends in, takes what lies between, and shortens its
 * neighbours: no other place reaches that far. Searching marks and taking them away are memrchr()
 * and memset() over some thousand bytes at most, so a file of lines that all cover everything costs
 * no more than another.
 */
#include "daemon/worker/jit/jit_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition_point.h"

int jit_places_init(struct jit_places *p, const uint64_t *addresses, size_t n)
{
	*p = (struct jit_places){
		.addresses = addresses,
		.n = n,
		.places = calloc(n + 1, sizeof(*p->places)),
		.is_first = calloc(n + 1, 1),
	};
	if (!p->places || !p->is_first)
		return error_origin(-ENOMEM);
	p->places[0].end = UINT64_MAX;
	p->is_first[0] = true;
	return 0;
}

void jit_places_deinit(struct jit_places *p)
{
	free(p->places);
	free(p->is_first);
	*p = (struct jit_places){0};
}

struct jit_place *jit_places_get(const struct jit_places *p, size_t i)
{
	const uint8_t *first = memrchr(p->is_first, true, i + 1);

	return &p->places[first - p->is_first];
}

/* A place that has address @i and some before it becomes two. */
static void jit_places_divide(struct jit_places *p, size_t i)
{
	if (i == p->n || p->is_first[i])
		return;
	p->places[i] = *jit_places_get(p, i);
	p->is_first[i] = true;
}

void jit_places_add(struct jit_places *p, const struct jit_code *code)
{
	size_t first = partition_point(p->n, i, p->addresses[i] < code->start);
	size_t rest = first, n = p->n - first;
	struct jit_place *below;

	if (code->start >= code->end)
		return;
	if (n > 0 && p->addresses[first] < code->end)
		rest += partition_point(n, i, p->addresses[first + i] < code->end);
	jit_places_divide(p, rest);
	if (first > 0) {
		below = jit_places_get(p, first - 1);
		below->end = below->end < code->start ? below->end : code->start;
	}
	if (rest < p->n && p->places[rest].start < code->end)
		p->places[rest].start = code->end;
	if (first == rest)
		return;
	memset(p->is_first + first, false, rest - first);
	p->is_first[first] = true;
	p->places[first] = (struct jit_place){code->start, code->end, *code};
}
