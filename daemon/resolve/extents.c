/* SPDX-License-Identifier: MIT */
/*
 * One array: the runs that are out or rest, by their first element. What lies between two of them
 * is free. One that has rested is dropped when the array is looked through for a gap; giving back
 * changes a time only, and cannot fail.
 */
#include "daemon/resolve/extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition_point.h"
#include "common/room.h"

struct extents_run {
	size_t first, n;
	uint64_t until_ns; /* rests until then; UINT64_MAX: it is out */
};

struct extents {
	size_t n; /* elements */
	uint64_t rest_ns;
	struct extents_run *runs;
	size_t n_runs, max_runs;
	size_t n_unused;
};

int extents_new(struct extents **ret, size_t n, uint64_t rest_ns)
{
	struct extents *e = calloc(1, sizeof(*e));

	if (!e)
		return error_origin(-ENOMEM);
	e->rest_ns = rest_ns;
	e->n = e->n_unused = n;
	*ret = e;
	return 0;
}

void extents_free(struct extents *e)
{
	if (!e)
		return;
	free(e->runs);
	free(e);
}

static void reclaim_rested_runs(struct extents *e, uint64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n_runs; i++)
		if (e->runs[i].until_ns > now_ns)
			e->runs[n++] = e->runs[i];
	e->n_runs = n;
}

int extents_allocate(struct extents *e, size_t n, uint64_t now_ns, size_t *ret_first)
{
	size_t first = 0, at;
	int r;

	reclaim_rested_runs(e, now_ns);
	for (at = 0; at < e->n_runs && e->runs[at].first - first < n; at++)
		first = e->runs[at].first + e->runs[at].n;
	if (at == e->n_runs && e->n - first < n)
		return EXTENTS_E_FULL;
	r = room_make(&e->runs, &e->max_runs, e->n_runs + 1, sizeof(*e->runs));
	if (r)
		return r;
	memmove(&e->runs[at + 1], &e->runs[at], (e->n_runs++ - at) * sizeof(*e->runs));
	e->runs[at] = (struct extents_run){.first = first, .n = n, .until_ns = UINT64_MAX};
	e->n_unused -= n;
	*ret_first = first;
	return EXTENTS_E_OK;
}

void extents_release(struct extents *e, size_t first, size_t n, uint64_t now_ns)
{
	size_t at = partition_point(e->n_runs, i, e->runs[i].first < first);

	e->runs[at].until_ns = now_ns + e->rest_ns;
	e->n_unused += n;
}

size_t extents_unused(const struct extents *e)
{
	return e->n_unused;
}
