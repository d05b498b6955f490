/* SPDX-License-Identifier: MIT */
/*
 * Which windows of the profile that is added are selected is found once for all of them: a label
 * tells of a window's second alone, so that those of one second stand or fall together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/partition_point.h"
#include "common/profile/ledger_line.h"
#include "common/profile/merge_private.h"

static bool merge_selects_window(const struct merge *m, const struct profile_window *w)
{
	if ((uint64_t)(w->time_ns / (int64_t)NS_PER_S) < m->select->not_before_s)
		return false;
	return profile_window_overlaps((uint64_t)(w->time_ns / (int64_t)NS_PER_S),
				       profile_window_seconds((uint64_t)w->duration_ns),
				       m->select->since_ns, m->select->until_ns);
}

static int64_t second_of(const struct profile_windows *windows, size_t i)
{
	return windows->all[i].time_ns / (int64_t)NS_PER_S;
}

int merge_select_windows(struct merge *m)
{
	const struct profile_windows *w = &m->from_windows;
	bool any = false;

	m->selected = calloc(w->n + 1, sizeof(*m->selected));
	if (!m->selected)
		return error_origin(-ENOMEM);
	for (size_t i = 0, end; i < w->n; i = end) {
		bool selected = false;

		for (end = i; end < w->n && second_of(w, end) == second_of(w, i); end++)
			selected |= merge_selects_window(m, &w->all[end]);
		memset(&m->selected[i], selected, end - i);
		any |= selected;
	}
	return any ? MERGE_E_OK : MERGE_E_NOTHING;
}

bool merge_is_selected(const struct merge *m, int64_t second)
{
	const struct profile_windows *w = &m->from_windows;
	size_t at = partition_point(w->n, i, second_of(w, i) < second);

	return at < w->n && second_of(w, at) == second && m->selected[at];
}

int merge_add_windows(struct merge *m)
{
	const struct profile_windows *from = &m->from_windows;
	bool *added = m->selected;
	int r = profile_windows_merge(&m->windows, from, added);

	for (size_t i = 0; i < from->n && !r; i++) {
		const struct profile_window *w = &from->all[i];

		if (!added[i])
			continue;
		r = ledger_line_add(&m->ledger, w->ledger);
		m->duration_ns = clamped_add(m->duration_ns, w->duration_ns);
		if (w->time_ns && (!m->p->time_ns || w->time_ns < m->p->time_ns))
			m->p->time_ns = w->time_ns;
	}
	return r;
}
