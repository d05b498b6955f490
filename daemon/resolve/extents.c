/* SPDX-License-Identifier: MIT */
/*
 * Two arrays: the gaps, sorted and never adjacent, and a queue of the runs that rest, oldest first.
 * Runs that are out are the caller's business; that there are n of them bounds both arrays, which
 * are grown when a run is taken, so that giving back cannot fail.
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
	uint64_t since_ns; /* resting: since when */
};

struct extents {
	uint64_t rest_ns;
	struct extents_run *gaps, *queue;
	size_t n_gaps, max_gaps, n_resting, max_resting, n_out;
	size_t n_unused;
};

/* Room for one more run that is out: n of them, out or resting, have at most n + 1 gaps. */
static int extents_reserve(struct extents *e)
{
	size_t n = e->n_out + e->n_resting + 2;
	int r = room_make(&e->gaps, &e->max_gaps, n, sizeof(*e->gaps));

	return r ? r : room_make(&e->queue, &e->max_resting, n, sizeof(*e->queue));
}

int extents_new(struct extents **ret, size_t n, uint64_t rest_ns)
{
	cleanup(extents_freep) struct extents *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return error_origin(-ENOMEM);
	r = extents_reserve(e);
	if (r)
		return r;
	e->rest_ns = rest_ns;
	e->n_unused = n;
	if (n)
		e->gaps[e->n_gaps++] = (struct extents_run){.n = n};
	*ret = steal_ptr(&e);
	return 0;
}

void extents_free(struct extents *e)
{
	if (!e)
		return;
	free(e->gaps);
	free(e->queue);
	free(e);
}

/* Joins @run to the gaps around it. */
static void add_gap(struct extents *e, struct extents_run run)
{
	size_t n = partition_point(e->n_gaps, i, e->gaps[i].first < run.first);
	struct extents_run *before, *after;

	before = n > 0 ? &e->gaps[n - 1] : NULL;
	after = n < e->n_gaps ? &e->gaps[n] : NULL;
	if (before && before->first + before->n == run.first) {
		before->n += run.n;
		if (after && run.first + run.n == after->first) {
			before->n += after->n;
			e->n_gaps--;
			memmove(after, after + 1, (e->n_gaps - n) * sizeof(*after));
		}
	} else if (after && run.first + run.n == after->first) {
		after->first = run.first;
		after->n += run.n;
	} else {
		memmove(&e->gaps[n + 1], &e->gaps[n], (e->n_gaps - n) * sizeof(*e->gaps));
		e->gaps[n] = run;
		e->n_gaps++;
	}
}

static void reclaim_rested_runs(struct extents *e, uint64_t now_ns)
{
	size_t n = 0;

	while (n < e->n_resting && e->queue[n].since_ns + e->rest_ns <= now_ns)
		add_gap(e, e->queue[n++]);
	if (!n)
		return;
	e->n_resting -= n;
	memmove(e->queue, e->queue + n, e->n_resting * sizeof(*e->queue));
}

int extents_allocate(struct extents *e, size_t n, uint64_t now_ns, size_t *ret_first)
{
	int r;

	reclaim_rested_runs(e, now_ns);
	for (size_t i = 0; i < e->n_gaps; i++) {
		struct extents_run *gap = &e->gaps[i];

		if (gap->n < n)
			continue;
		r = extents_reserve(e);
		if (r)
			return r;
		gap = &e->gaps[i];
		*ret_first = gap->first;
		gap->first += n;
		gap->n -= n;
		if (!gap->n) {
			e->n_gaps--;
			memmove(gap, gap + 1, (e->n_gaps - i) * sizeof(*gap));
		}
		e->n_out++;
		e->n_unused -= n;
		return EXTENTS_E_OK;
	}
	return EXTENTS_E_FULL;
}

void extents_release(struct extents *e, size_t first, size_t n, uint64_t now_ns)
{
	e->queue[e->n_resting++] = (struct extents_run){.first = first, .n = n, .since_ns = now_ns};
	e->n_out--;
	e->n_unused += n;
}

size_t extents_unused(const struct extents *e)
{
	return e->n_unused;
}
