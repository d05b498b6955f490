/* SPDX-License-Identifier: MIT */
/*
 * Entries of the aggregate are in order of first appearance. A view is an array of them with their
 * processes and stacks at hand, sorted, and the ranges of it that are one service each.
 */
#include "daemon/output/view.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "daemon/output/code_names.h"

#define NO_SERVICE "other"

static const char *view_entry_service(const struct view_entry *e)
{
	return e->process->service && e->process->service[0] ? e->process->service : NO_SERVICE;
}

static int view_compare_process(const void *a, const void *b)
{
	const struct view_entry *x = a, *y = b;

	/* Entries lie in one array: their order is that of first appearance. */
	return order_of(x->entry->process, y->entry->process)
		       ?: order_of(view_is_wait(x), view_is_wait(y))
		       ?: order_of(x->entry->generation, y->entry->generation)
		       ?: order_of(x->entry, y->entry);
}

static int view_compare_service(const void *a, const void *b)
{
	return strcmp(view_entry_service(a), view_entry_service(b)) ?: view_compare_process(a, b);
}

const struct snapshot_process *view_find_process(const struct view *view, uint64_t serial)
{
	const struct snapshot *s = view->snapshot;
	size_t at = partition_point(s->n_processes, i, s->processes[i].serial < serial);

	return at < s->n_processes && s->processes[at].serial == serial ? &s->processes[at]
									: &view->nobody;
}

static int view_make_groups(struct view *view)
{
	bool all = view->snapshot->session != 0;

	for (size_t i = 0; i < view->n_entries; i++) {
		const char *service = all ? NULL : view_entry_service(&view->entries[i]);
		struct view_group *g = view->n_groups ? &view->groups[view->n_groups - 1] : NULL;

		if (g && (all || strcmp(g->service, service) == 0)) {
			g->n++;
			continue;
		}
		g = reallocarray(view->groups, view->n_groups + 1, sizeof(*g));
		if (!g)
			return error_origin(-ENOMEM);
		view->groups = g;
		g[view->n_groups++] = (struct view_group){.service = service, .first = i, .n = 1};
	}
	return 0;
}

int view_new(struct view **ret, const struct snapshot *snapshot)
{
	cleanup(view_freep) struct view *view = calloc(1, sizeof(*view));
	const struct aggregate_entry *entries;
	size_t n;
	int r;

	if (!view)
		return error_origin(-ENOMEM);
	view->snapshot = snapshot;
	entries = aggregate_entries(snapshot->aggregate, &n);
	view->entries = calloc(n + 1, sizeof(*view->entries));
	view->places = calloc(1, sizeof(*view->places));
	if (!view->entries || !view->places)
		return error_origin(-ENOMEM);
	view->n_entries = n;
	for (size_t i = 0; i < n; i++) {
		struct view_entry *e = &view->entries[i];

		e->entry = &entries[i];
		e->process = view_find_process(view, entries[i].process);
		e->thread_name = aggregate_thread_name(snapshot->aggregate, entries[i].thread_name);
		e->stack = aggregate_stack(snapshot->aggregate, entries[i].stack);
		if (e->stack.n_kernel > e->stack.n_frames)
			e->stack.n_kernel = (uint16_t)e->stack.n_frames;
	}
	if (n)
		qsort(view->entries, n, sizeof(*view->entries),
		      snapshot->session ? view_compare_process : view_compare_service);
	r = view_make_groups(view);
	if (r)
		return r;
	*ret = steal_ptr(&view);
	return 0;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	free(view->entries);
	free(view->groups);
	if (view->places) {
		code_names_free(view->places->codes);
		free(view->places->ranges);
	}
	free(view->places);
	free(view);
}
