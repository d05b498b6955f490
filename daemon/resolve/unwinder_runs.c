/* SPDX-License-Identifier: MIT */
/*
 * When the room of a run of mappings is used again. Nobody here needs a run that was returned, but
 * roots in the kernel may still name it, and walks may be under way in it:
 *
 *   - A child that was born before the parent's root was replaced has that root, and its birth may
 *     not be known yet. So the runs that were returned before a round of publishing began wait for
 *     a round that knew of all births up to then: that one gives each such child another root, or
 *     none. It counts when the round began, not when the event happened that was the reason, which
 *     may have waited for seconds to be read.
 *   - That child may have had children of its own meanwhile, which have the root too. So a run
 * waits for one more round if the one before took away a root that may have named it.
 *   - A root that cannot be withdrawn for now, because its bucket of the hash is busy (stuck), may
 *     name whatever was returned since it was to be.
 *
 * A root that may name more than its space's run is unsure: space.from_ns says since when what was
 * returned may be named. One of our own making names its space's run; but children who were born
 * just before it was made are only heard of with the next drain, so what it was is remembered until
 * then.
 *
 * When no root names it any more a run rests for as long as a walk may take (layout.h, "Reuse").
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/error.h"
#include "daemon/resolve/unwinder_private.h"

int run_new(struct unwinder *u, size_t n, struct space_run **ret)
{
	struct space_run *run;
	size_t first;
	int r;

	run = calloc(1, sizeof(*run));
	if (!run)
		return error_origin(-ENOMEM);
	r = extents_allocate(u->runs, n, u->now_ns, &first);
	if (r) {
		free(run);
		return r < 0 ? r : UNWIND_HOST_E_FULL;
	}
	*run = (struct space_run){.first = (uint32_t)first, .n = (uint32_t)n, .n_references = 1};
	memcpy(u->host->mappings + first, u->scratch, n * sizeof(*u->scratch));
	for (size_t i = 0; i < n; i++)
		table_pool_hold(u->pool, u->scratch[i].slot);
	*ret = run;
	return 0;
}

void run_unref(struct unwinder *u, struct space_run *run)
{
	if (!run || --run->n_references > 0)
		return;
	u->n_returned += run->n;
	LL_PREPEND2(u->returned, run, next);
}

size_t runs_unused(const struct unwinder *u)
{
	return extents_unused(u->runs) + u->n_returned;
}

/* *link is the run, and becomes the next. */
static void run_free(struct unwinder *u, struct space_run **link)
{
	struct space_run *run = *link;
	const struct unwind_mapping *mappings = u->host->mappings + run->first;

	for (uint32_t i = 0; i < run->n; i++)
		table_pool_release(u->pool, mappings[i].slot);
	extents_release(u->runs, run->first, run->n, u->now_ns);
	u->n_returned -= run->n;
	*link = run->next;
	free(run);
}

void runs_begin_round(struct unwinder *u, uint64_t until_ns)
{
	struct space_run **link = &u->returned;

	u->knows_more = until_ns > u->until_ns;
	u->n_rounds += u->knows_more;
	u->until_ns = until_ns;
	while (*link) {
		struct space_run *run = *link;

		if (run->is_unnamed) {
			run_free(u, link);
			continue;
		}
		if (!run->since_ns)
			run->since_ns = u->now_ns;
		link = &run->next;
	}
}

void runs_end_round(struct unwinder *u)
{
	struct space_run *run;
	struct space *s;

	if (u->has_lost || !u->knows_more)
		return; /* births are unknown */
	LL_FOREACH2(u->returned, run, next)
	{
		if (run->since_ns && run->since_ns <= u->until_ns && run->since_ns < u->unsure_ns)
			run->is_unnamed = true;
	}
	/* All but those that are stuck have been replaced. */
	u->unsure_ns = UINT64_MAX;
	DL_FOREACH2(u->dirty, s, next)
	{
		if (s->from_ns < u->unsure_ns)
			u->unsure_ns = s->from_ns;
	}
}

void runs_forget(struct unwinder *u)
{
	while (u->returned)
		run_free(u, &u->returned);
	u->unsure_ns = UINT64_MAX;
	u->until_ns = 0;
}

void root_is_unsure(struct unwinder *u, struct space *s, uint64_t from_ns)
{
	s->has_root = true;
	if (from_ns < s->from_ns)
		s->from_ns = from_ns;
	if (from_ns < u->unsure_ns)
		u->unsure_ns = from_ns;
}

void root_is_known(struct unwinder *u, struct space *s, bool has_root)
{
	if (u->n_rounds > s->changed_round || s->from_ns < s->was_from_ns)
		s->was_from_ns = s->from_ns;
	s->changed_round = u->n_rounds + 1;
	s->from_ns = UINT64_MAX;
	s->has_root = has_root;
}

bool root_was_there(const struct unwinder *u, const struct space *s)
{
	return s->has_root || u->n_rounds <= s->changed_round;
}

uint64_t root_from(const struct unwinder *u, const struct space *s, uint64_t born_ns)
{
	uint64_t from_ns = s->from_ns;

	if (u->n_rounds <= s->changed_round && s->was_from_ns < from_ns)
		from_ns = s->was_from_ns;
	return from_ns < born_ns ? from_ns : born_ns;
}
