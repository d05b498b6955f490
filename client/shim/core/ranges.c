/* SPDX-License-Identifier: MIT */
#include "client/shim/core/ranges.h"

#include <string.h>

#include "common/partition_point.h"

/* The first range that ends at @address or behind. */
static unsigned ranges_find(const struct ranges *ranges, uint64_t address)
{
	return partition_point(ranges->n, i, ranges->at[i].end < address);
}

/* Puts @n of @with in the place of those from @from up to @to. */
static bool ranges_replace(struct ranges *ranges, unsigned from, unsigned to,
			   const struct range *with, unsigned n)
{
	unsigned n_all = ranges->n - (to - from) + n;

	if (n_all > RANGES_MAX)
		return false;
	memmove(&ranges->at[from + n], &ranges->at[to], (ranges->n - to) * sizeof(*with));
	memcpy(&ranges->at[from], with, n * sizeof(*with));
	ranges->n = n_all;
	return true;
}

bool ranges_add(struct ranges *ranges, uint64_t start, uint64_t end)
{
	unsigned from = ranges_find(ranges, start), to;
	struct range all = {start, end};

	for (to = from; to < ranges->n && ranges->at[to].start <= end; to++) {
		if (ranges->at[to].start < all.start)
			all.start = ranges->at[to].start;
		if (ranges->at[to].end > all.end)
			all.end = ranges->at[to].end;
	}
	return ranges_replace(ranges, from, to, &all, 1);
}

bool ranges_remove(struct ranges *ranges, uint64_t start, uint64_t end)
{
	unsigned from = ranges_find(ranges, start + 1), to, n = 0;
	struct range left[2];

	for (to = from; to < ranges->n && ranges->at[to].start < end; to++) {
		if (ranges->at[to].start < start)
			left[n++] = (struct range){ranges->at[to].start, start};
		if (ranges->at[to].end > end)
			left[n++] = (struct range){end, ranges->at[to].end};
	}
	return ranges_replace(ranges, from, to, left, n);
}
