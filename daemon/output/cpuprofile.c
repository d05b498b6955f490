/* SPDX-License-Identifier: MIT */
/*
 * A process's part of a window is made a profile like a service's, without names, and that is
 * written in the other format (cpuprofile_from_profile()). Where there is a limit, only the largest
 * processes have a file.
 */
#include "daemon/output/cpuprofile.h"

#include <errno.h>
#include <stdio.h>

#include "common/error.h"
#include "common/order.h"
#include "common/profile/cpuprofile.h"
#include "common/room.h"
#include "daemon/output/pprof.h"

static int legacy_find_processes(struct legacy_plan *plan, const struct view *view,
				 const struct view_group *group)
{
	const size_t end = group->first + group->n;
	int r = 0;

	for (size_t i = group->first, first = i; i < end && !r; first = i) {
		const uint64_t serial = view->entries[first].entry->process;
		struct legacy_process p = {.group.first = first};

		for (; i < end && view->entries[i].entry->process == serial; i++)
			if (view_n_user(&view->entries[i]))
				p.samples += view->entries[i].entry->count;
		p.group.n = i - first;
		if (p.samples)
			r = room_append(&plan->all, &plan->capacity, &plan->n, p);
	}
	return r;
}

/* The largest first. */
static int legacy_compare_process(const void *a, const void *b)
{
	const struct legacy_process *x = a, *y = b;

	return order_of(y->samples, x->samples) ?: order_of(x->group.first, y->group.first);
}

int legacy_plan(const struct view *view, const struct view_group *group, uint32_t max_processes,
		struct legacy_plan *ret)
{
	int r = legacy_find_processes(ret, view, group);

	if (r || !max_processes || ret->n <= max_processes)
		return r;
	qsort(ret->all, ret->n, sizeof(*ret->all), legacy_compare_process);
	ret->n = max_processes;
	return 0;
}

void legacy_plan_deinit(struct legacy_plan *plan)
{
	free(plan->all);
}

/* Pointer size of the program; 8 where nothing tells. Returns 0 or negative errno. */
static int legacy_slot_bytes(const struct context *c, const struct snapshot_process *p,
			     unsigned *ret)
{
	int r = p->program ? symbols_headers(c->symbols, p->program) : 0;

	*ret = p->program && image_elf(p->program) ? image_elf(p->program)->pointer_bytes : 8;
	return r;
}

int output_cpuprofile(const struct context *c, const struct view *view,
		      const struct legacy_process *process, uint8_t **ret, size_t *ret_length)
{
	const struct snapshot_process *p = view->entries[process->group.first].process;
	cleanup(profile_freep) struct profile *profile = NULL;
	unsigned slot_bytes;
	char comment[64];

	snprintf(comment, sizeof(comment), "# profd process: pid=%d", (int)p->pid);
	return legacy_slot_bytes(c, p, &slot_bytes)
		       ?: output_pprof(c, view, &process->group, SYMBOLIZE_NONE, &profile)
		       ?: profile_add_comment(profile, comment)
		       ?: cpuprofile_from_profile(profile, slot_bytes, ret, ret_length);
}
