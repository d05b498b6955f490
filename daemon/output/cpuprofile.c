/* SPDX-License-Identifier: MIT */
/*
 * A process's part of a window is made a profile like a service's, without names and waits, and
 * that is written in the other format (cpuprofile_from_profile()). Where there is a limit, only the
 * largest processes have a file.
 */
#include "daemon/output/cpuprofile.h"

#include <stdio.h>

#include "common/order.h"
#include "common/profile/cpuprofile.h"
#include "common/room.h"
#include "daemon/output/pprof.h"

#define READ_MAX ((size_t)16 << 20) /* of a file that is read for its samples' sake */

/* One file to be. */
struct cpuprofile_process {
	struct view_group group; /* its entries, but for those of waits */
	uint64_t samples;        /* with user frames; > 0 */
};

struct cpuprofile_plan {
	struct cpuprofile_process *all;
	size_t n, capacity;
};

static void cpuprofile_plan_deinit(struct cpuprofile_plan *plan)
{
	free(plan->all);
}

static int legacy_find_processes(struct cpuprofile_plan *plan, const struct view *view,
				 const struct view_group *group)
{
	const size_t end = group->first + group->n;
	int r = 0;

	for (size_t i = group->first, first = i; i < end && !r; first = i) {
		const uint64_t serial = view->entries[first].entry->process;
		struct cpuprofile_process p = {.group.first = first};

		for (; i < end && view->entries[i].entry->process == serial; i++) {
			if (view_is_wait(&view->entries[i]))
				continue;
			p.group.n++;
			if (view_n_user(&view->entries[i]))
				p.samples += view->entries[i].entry->count;
		}
		if (p.samples)
			r = room_append(&plan->all, &plan->capacity, &plan->n, p);
	}
	return r;
}

/* The largest first. */
DEFINE_ORDER(legacy_compare_process, struct cpuprofile_process,
	     order_of(y->samples, x->samples) ?: order_of(x->group.first, y->group.first))

/* Pointer size of the program; 8 where nothing tells. Returns 0 or negative errno. */
static int legacy_slot_bytes(const struct context *c, const struct snapshot_process *p,
			     unsigned *ret)
{
	int r = p->program ? symbols_headers(c->symbols, p->program) : 0;

	*ret = p->program && image_elf(p->program) ? image_elf(p->program)->pointer_bytes : 8;
	return r;
}

static int legacy_encode(const struct context *c, const struct view *view,
			 const struct cpuprofile_process *process, uint8_t **ret,
			 size_t *ret_length)
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

static int legacy_add_process(struct writing *g, const struct cpuprofile_process *process,
			      const char *dir)
{
	const struct snapshot_process *p = g->view->entries[process->group.first].process;
	char comm[64], stem[96];
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = legacy_encode(g->context, g->view, process, &data, &length);

	if (r)
		return r;
	names_escape(p->comm, sizeof(comm) - 1, comm);
	snprintf(stem, sizeof(stem), "%s-%d", comm, (int)p->pid);
	return encoders_add_window(g, dir, CONTENTS_LEGACY, stem,
				   (struct index_counts){.samples = process->samples}, data,
				   length);
}

int legacy_add(struct writing *g, const struct view_group *group, const char *dir)
{
	const uint32_t max = g->context->legacy_max_processes;
	cleanup(cpuprofile_plan_deinit) struct cpuprofile_plan plan = {0};
	int r = legacy_find_processes(&plan, g->view, group);

	if (!r && max && plan.n > max) {
		qsort(plan.all, plan.n, sizeof(*plan.all), legacy_compare_process);
		plan.n = max;
	}
	for (size_t i = 0; i < plan.n && !r; i++)
		r = legacy_add_process(g, &plan.all[i], dir);
	return r;
}

int legacy_count(struct store *store, const char *path, struct index_counts *ret)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t length;
	int r = store_read(store->fd, path, READ_MAX, &data, &length)
			?: cpuprofile_read(data, length, &profile, &message);

	if (!r)
		ret->samples = (uint64_t)profile_total(profile, 0);
	return r;
}
