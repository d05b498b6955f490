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

#define NS_PER_S UINT64_C(1000000000)

struct builder {
	const struct context *c;
	const struct view *view;
	const struct view_group *group;
	struct profile *profile;
	struct spots *spots;
	struct pprof_mappings mappings;
	uint32_t *frames; /* spots of all samples, one after the other */
	size_t n_frames, max_frames;
	uint32_t *locations;            /* by spot */
	const struct window_type *type; /* of the second value; the first one counts samples */
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

/* --- labels ----------------------------------------------------------------------------------- */

/* A text or, where that is NULL, a number. */
struct label_value {
	const char *text;
	int64_t num;
};

static bool label_of_text(const char *text, struct label_value *ret)
{
	ret->text = text;
	return text && *text;
}

static bool label_pid(const struct view_entry *e, struct label_value *ret)
{
	ret->num = e->process->pid;
	return true;
}

static bool label_tid(const struct view_entry *e, struct label_value *ret)
{
	ret->num = e->entry->tid;
	return e->entry->tid;
}

static bool label_comm(const struct view_entry *e, struct label_value *ret)
{
	return label_of_text(e->process->comm, ret);
}

static bool label_thread(const struct view_entry *e, struct label_value *ret)
{
	return label_of_text(e->thread_name, ret);
}

static bool label_service(const struct view_entry *e, struct label_value *ret)
{
	return label_of_text(e->process->service, ret);
}

static bool label_cgroup(const struct view_entry *e, struct label_value *ret)
{
	return label_of_text(e->process->cgroup, ret);
}

static bool label_container(const struct view_entry *e, struct label_value *ret)
{
	return label_of_text(e->process->container, ret);
}

/* What is wrong with the stack; samples of whole stacks have neither label. */
static bool label_stack(const struct view_entry *e, struct label_value *ret)
{
	ret->text = e->stack.quality == STACK_TRUNCATED ? "truncated" : "broken";
	return e->stack.quality == STACK_TRUNCATED || e->stack.quality == STACK_BROKEN;
}

static bool label_reason(const struct view_entry *e, struct label_value *ret)
{
	const bool is_truncated = e->stack.quality == STACK_TRUNCATED;
	const char *const *names = is_truncated ? truncated_names : broken_names;
	const unsigned n = is_truncated ? N_TRUNCATED : N_BROKEN;

	ret->text = e->stack.reason < n ? names[e->stack.reason] : "other";
	return is_truncated || e->stack.quality == STACK_BROKEN;
}

/* In the order of writing. */
static const struct label_row {
	unsigned bit; /* LABEL_*; 0: always */
	const char *key;
	bool (*get)(const struct view_entry *e, struct label_value *ret);
} label_rows[] = {
	{LABEL_PID, "pid", label_pid},
	{LABEL_COMM, "comm", label_comm},
	{LABEL_THREAD, "thread", label_thread},
	{LABEL_TID, "tid", label_tid},
	{LABEL_SERVICE, "service", label_service},
	{LABEL_CGROUP, "cgroup", label_cgroup},
	{LABEL_CONTAINER, "container", label_container},
	{0, "stack", label_stack},
	{0, "reason", label_reason},
};

struct labels {
	struct profile_label all[ARRAY_SIZE(label_rows)];
	uint32_t n;
};

static int pprof_build_labels(struct builder *b, const struct view_entry *e, struct labels *labels)
{
	labels->n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(label_rows); i++) {
		const struct label_row *row = &label_rows[i];
		struct profile_label *label = &labels->all[labels->n];
		struct label_value value = {0};
		int r;

		if ((row->bit && !(b->view->snapshot->labels & row->bit)) || !row->get(e, &value))
			continue;
		*label = (struct profile_label){.num = value.num};
		r = profile_add_text(b->profile, row->key, &label->key);
		if (!r && value.text)
			r = profile_add_text(b->profile, value.text, &label->str);
		if (r)
			return r;
		labels->n++;
	}
	return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool snapshot_has_clock(const struct snapshot *s)
{
	return s->is_clock;
}

/* Each sample stands for 1/frequency of a second of a CPU that was not idle. */
static bool snapshot_has_cycles(const struct snapshot *s)
{
	return s->frequency && strcmp(s->event, "cycles") == 0;
}

static bool snapshot_has_event(const struct snapshot *s)
{
	(void)s;
	return true;
}

static int64_t value_of_weight(const struct snapshot *s, const struct aggregate_entry *entry)
{
	(void)s;
	return (int64_t)entry->weight;
}

static int64_t value_of_count(const struct snapshot *s, const struct aggregate_entry *entry)
{
	return (int64_t)((unsigned __int128)entry->count * NS_PER_S / s->frequency);
}

/* Clocks tell time, and so do cycles at a fixed frequency. Everything else counts events. */
static const struct window_type {
	bool (*is_for)(const struct snapshot *s);
	const char *type, *unit; /* type NULL: the event's name */
	int64_t (*get)(const struct snapshot *s, const struct aggregate_entry *entry);
} window_types[] = {
	{snapshot_has_clock, "cpu", "nanoseconds", value_of_weight},
	{snapshot_has_cycles, "cpu", "nanoseconds", value_of_count},
	{snapshot_has_event, NULL, "count", value_of_weight},
};

static int pprof_build_types(struct builder *b)
{
	const struct snapshot *s = b->view->snapshot;
	const struct window_type *type = window_types;
	struct profile *p = b->profile;
	const char *name;
	int r;

	while (!type->is_for(s))
		type++;
	b->type = type;
	name = type->type ? type->type : s->event;
	r = profile_add_sample_type(p, "samples", "count");
	if (!r)
		r = profile_add_sample_type(p, name, type->unit);
	if (!r)
		r = profile_add_text(p, name, &p->period_type.type);
	if (!r)
		r = profile_add_text(p, type->unit, &p->period_type.unit);
	p->period = type->get == value_of_count ? (int64_t)(NS_PER_S / s->frequency)
						: (int64_t)s->period;
	p->time_ns = (int64_t)s->start_ns;
	p->duration_ns = (int64_t)s->duration_ns;
	return r;
}

/* --- the profile ------------------------------------------------------------------------------ */

static int pprof_build_samples(struct builder *b)
{
	const struct snapshot *s = b->view->snapshot;
	size_t at = 0;

	for (size_t i = 0; i < b->group->n; i++) {
		const struct view_entry *e = &b->view->entries[b->group->first + i];
		uint32_t n = e->stack.n_frames - pprof_first_frame(b, e);
		int64_t values[] = {(int64_t)e->entry->count, b->type->get(s, e->entry)};
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
