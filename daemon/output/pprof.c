/* SPDX-License-Identifier: MIT */
/*
 * Three passes. First every frame becomes a spot: one address in one process's mapping (or kernel
 * image), each once. Then the spots, image by image, so that names are asked for in few questions,
 * become locations (pprof_locate.c). Last the samples, whose frames are by now numbers of spots.
 *
 * Mappings: one image may lie at another address in each process. All are laid over the layout
 * that was seen first, segment by segment: an address is the file offset, moved to there.
 */
#include "daemon/output/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/profile/value_types.h"
#include "common/reasons.h"
#include "common/room.h"
#include "daemon/output/pprof_spots.h"

#define LABELS_MAX 10

struct builder {
	const struct context *c;
	const struct view *view;
	const struct view_group *group;
	struct profile *profile;
	struct spots *spots;
	struct pprof_mappings mappings;
	uint32_t *frames; /* spots of all samples, one after the other */
	size_t n_frames, max_frames;
	uint32_t *locations; /* by spot */
	bool is_time;        /* the second value is cpu/nanoseconds */
};

static const char *const truncated_names[] = {TRUNCATED_REASONS(REASON_NAME)};
static const char *const broken_names[] = {BROKEN_REASONS(REASON_NAME)};

static void pprof_builder_deinit(struct builder *b)
{
	profile_free(b->profile);
	spots_free(b->spots);
	pprof_mappings_deinit(&b->mappings);
	free(b->frames);
	free(b->locations);
}

static int pprof_build_frame(struct builder *b, uint32_t spot)
{
	if (room_make(&b->frames, &b->max_frames, b->n_frames + 1, sizeof(*b->frames)))
		return -ENOMEM;
	b->frames[b->n_frames++] = spot;
	return 0;
}

/* How many frames of @e are written: none of the kernel's if they are hidden. */
static uint32_t pprof_first_frame(const struct builder *b, const struct view_entry *e)
{
	return b->view->snapshot->hide_kernel ? e->stack.n_kernel : 0;
}

/* A stack of which nothing is left to show still has one frame, which says why. */
static enum spot_name empty_stack_name(const struct view_entry *e)
{
	if (e->stack.n_kernel || e->process->kernel_thread || e->stack.quality == STACK_NO_USER)
		return SPOT_KERNEL;
	return SPOT_UNKNOWN;
}

static int pprof_build_frames(struct builder *b, const struct view_entry *e)
{
	uint32_t first = pprof_first_frame(b, e), spot;
	int r;

	if (first == e->stack.n_frames) {
		r = spots_add_name(b->spots, empty_stack_name(e), &spot);
		return r ? r : pprof_build_frame(b, spot);
	}
	for (uint32_t i = first; i < e->stack.n_frames; i++) {
		uint64_t frame = e->stack.frames[i];

		if (i < e->stack.n_kernel)
			r = spots_add_kernel(b->spots, b->c->kernel, frame, &spot);
		else
			r = spots_add_user(b->spots, b->view, e, frame, b->c->symbols, &spot);
		if (!r)
			r = pprof_build_frame(b, spot);
		if (r)
			return r;
	}
	return 0;
}

struct labels {
	struct profile_label all[LABELS_MAX];
	uint32_t n;
};

static int pprof_build_label(struct builder *b, struct labels *labels, const char *key,
			     const char *text)
{
	struct profile_label *label = &labels->all[labels->n];
	int r;

	if (!text || !*text)
		return 0;
	*label = (struct profile_label){0};
	r = profile_add_text(b->profile, key, &label->key);
	if (!r)
		r = profile_add_text(b->profile, text, &label->str);
	labels->n += !r;
	return r;
}

static int pprof_build_number(struct builder *b, struct labels *labels, const char *key,
			      int64_t num)
{
	struct profile_label *label = &labels->all[labels->n];
	int r;

	*label = (struct profile_label){.num = num};
	r = profile_add_text(b->profile, key, &label->key);
	labels->n += !r;
	return r;
}

static int pprof_build_quality(struct builder *b, struct labels *labels, const struct stack *stack)
{
	const char *reason = NULL;
	int r;

	if (stack->quality == STACK_TRUNCATED)
		reason = stack->reason < N_TRUNCATED ? truncated_names[stack->reason] : "other";
	else if (stack->quality == STACK_BROKEN)
		reason = stack->reason < N_BROKEN ? broken_names[stack->reason] : "other";
	if (!reason)
		return 0;
	r = pprof_build_label(b, labels, "stack",
			      stack->quality == STACK_TRUNCATED ? "truncated" : "broken");
	return r ? r : pprof_build_label(b, labels, "reason", reason);
}

static int pprof_build_labels(struct builder *b, const struct view_entry *e, struct labels *labels)
{
	unsigned wanted = b->view->snapshot->labels;
	const struct snapshot_process *p = e->process;
	int r = 0;

	labels->n = 0;
	if (wanted & LABEL_PID)
		r = pprof_build_number(b, labels, "pid", p->pid);
	if (!r && (wanted & LABEL_COMM))
		r = pprof_build_label(b, labels, "comm", p->comm);
	if (!r && (wanted & LABEL_THREAD))
		r = pprof_build_label(b, labels, "thread",
				      aggregate_thread_name(b->view->snapshot->aggregate,
							    e->entry->thread_name));
	if (!r && (wanted & LABEL_TID) && e->entry->tid)
		r = pprof_build_number(b, labels, "tid", e->entry->tid);
	if (!r && (wanted & LABEL_SERVICE))
		r = pprof_build_label(b, labels, "service", p->service);
	if (!r && (wanted & LABEL_CGROUP))
		r = pprof_build_label(b, labels, "cgroup", p->cgroup);
	if (!r && (wanted & LABEL_CONTAINER))
		r = pprof_build_label(b, labels, "container", p->container);
	return r ? r : pprof_build_quality(b, labels, &e->stack);
}

/* What the samples stand for, in the unit of the second value. */
static int64_t pprof_sample_value(const struct builder *b, const struct aggregate_entry *entry)
{
	const struct snapshot *s = b->view->snapshot;

	if (b->is_time && !s->is_clock)
		return (int64_t)((unsigned __int128)entry->count * 1000000000u / s->frequency);
	return (int64_t)entry->weight;
}

static int pprof_build_samples(struct builder *b)
{
	size_t at = 0;

	for (size_t i = 0; i < b->group->n; i++) {
		const struct view_entry *e = &b->view->entries[b->group->first + i];
		uint32_t n = e->stack.n_frames - pprof_first_frame(b, e);
		int64_t values[] = {(int64_t)e->entry->count, pprof_sample_value(b, e->entry)};
		struct labels labels;
		int r = pprof_build_labels(b, e, &labels);

		if (r)
			return r;
		if (n == 0)
			n = 1;
		for (uint32_t j = 0; j < n; j++)
			b->frames[at + j] = b->locations[b->frames[at + j]];
		r = profile_add_sample(b->profile, b->frames + at, n, values, labels.all, labels.n);
		if (r)
			return r;
		at += n;
	}
	return 0;
}

/*
 * Clocks tell time. So do cycles at a fixed frequency: each sample stands for 1/frequency of a
 * second of a CPU that was not idle. Everything else counts events.
 */
static int pprof_build_types(struct builder *b)
{
	const struct snapshot *s = b->view->snapshot;
	struct profile *p = b->profile;
	int r;

	b->is_time = s->is_clock || (strcmp(s->event, "cycles") == 0 && s->frequency);
	r = value_types_add(p, b->is_time ? "cpu-clock" : s->event);
	p->period = (int64_t)s->period;
	if (b->is_time && !s->is_clock)
		p->period = (int64_t)(1000000000u / s->frequency);
	p->time_ns = (int64_t)s->start_ns;
	p->duration_ns = (int64_t)s->duration_ns;
	return r;
}

static int pprof_build_comments(struct builder *b)
{
	cleanup(freep) char *text = NULL;
	char *rest;
	int r = context_describe(b->c, b->view->snapshot, &text);

	if (r)
		return r;
	for (char *line = strtok_r(text, "\n", &rest); line && !r;
	     line = strtok_r(NULL, "\n", &rest))
		r = profile_add_comment(b->profile, line);
	return r;
}

static int pprof_build(struct builder *b)
{
	int r = profile_new(&b->profile);

	if (!r)
		r = spots_new(&b->spots);
	if (!r)
		r = pprof_build_types(b);
	if (!r)
		r = pprof_build_comments(b);
	for (size_t i = 0; i < b->group->n && !r; i++)
		r = pprof_build_frames(b, &b->view->entries[b->group->first + i]);
	if (!r)
		r = pprof_mappings_main(&b->mappings, b->profile, b->c, b->view, b->group);
	if (!r)
		r = pprof_locate(b->c, b->view->snapshot->symbolize, b->spots, &b->mappings,
				 b->profile, &b->locations);
	return r ? r : pprof_build_samples(b);
}

int output_pprof(const struct context *c, const struct view *view, const struct view_group *group,
		 struct profile **ret)
{
	struct builder b = {.c = c, .view = view, .group = group};
	int r = pprof_build(&b);

	if (!r)
		*ret = steal_ptr(&b.profile);
	pprof_builder_deinit(&b);
	return r;
}
