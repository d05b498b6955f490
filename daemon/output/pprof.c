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

#include <string.h>

#include "common/clock.h"
#include "common/profile/sample_times.h"
#include "common/profile/value_types.h"
#include "common/reasons.h"
#include "common/room.h"
#include "common/system_calls.h"
#include "daemon/output/pprof_spots.h"
#include "daemon/output/pprof_wakers.h"

struct pprof_builder {
	const struct context *c;
	const struct view *view;
	const struct view_group *group;
	enum symbolize symbolize;
	struct profile *profile;
	struct spots spots;
	struct pprof_mappings mappings;
	uint32_t *frames; /* spots of all samples, one after the other */
	size_t n_frames, max_frames;
	uint32_t *locations; /* by spot */
	struct pprof_wakers *wakers;
	bool counts_cycles;      /* of which time is made */
	uint32_t latency, waits; /* which values these are; 0: none */
};

static const char *const truncated_names[] = {TRUNCATED_REASONS(REASON_NAME)};
static const char *const broken_names[] = {BROKEN_REASONS(REASON_NAME)};

static void pprof_builder_deinit(struct pprof_builder *b)
{
	profile_free(b->profile);
	spots_deinit(&b->spots);
	pprof_mappings_deinit(&b->mappings);
	free(b->frames);
	free(b->locations);
	pprof_wakers_free(b->wakers);
}

static int pprof_build_frame(struct pprof_builder *b, uint32_t spot)
{
	return room_append(&b->frames, &b->max_frames, &b->n_frames, spot);
}

/* How many frames of @e are written: none of the kernel's if they are hidden. */
static uint32_t pprof_first_frame(const struct pprof_builder *b, const struct view_entry *e)
{
	return b->view->snapshot->hide_kernel ? e->stack.n_kernel : 0;
}

/* A stack of which nothing is left to show still has one frame, which says why. */
static const char *empty_stack_name(const struct view_entry *e)
{
	static const char kernel[] = "[kernel]", unknown[] = "[unknown]";

	return e->stack.n_kernel || e->process->kernel_thread || e->stack.quality == STACK_NO_USER
		       ? kernel
		       : unknown;
}

static int pprof_build_frames(struct pprof_builder *b, const struct view_entry *e)
{
	uint32_t first = pprof_first_frame(b, e), spot;
	int r;

	if (first == e->stack.n_frames) {
		r = spots_add_name(&b->spots, empty_stack_name(e), &spot);
		return r ? r : pprof_build_frame(b, spot);
	}
	for (uint32_t i = first; i < e->stack.n_frames; i++) {
		if (!spots_has_frame(e, i))
			continue;
		r = spots_add_frame(&b->spots, b->c, b->view, e, i, &spot)
			    ?: pprof_build_frame(b, spot);
		if (r)
			return r;
	}
	return 0;
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Why the stack is not complete; samples of complete ones have neither label. */
static const char *stack_fault(const struct view_entry *e)
{
	return e->stack.quality == STACK_TRUNCATED ? "truncated"
	       : e->stack.quality == STACK_BROKEN  ? "broken"
	       : e->stack.quality == STACK_GUESSED ? "guessed"
						   : NULL;
}

static const char *stack_fault_reason(const struct view_entry *e)
{
	const bool is_truncated = e->stack.quality == STACK_TRUNCATED;
	const char *const *names = is_truncated ? truncated_names : broken_names;
	const unsigned n = is_truncated ? N_TRUNCATED : N_BROKEN;

	if (!stack_fault(e) || e->stack.quality == STACK_GUESSED)
		return NULL;
	return e->stack.reason < n ? names[e->stack.reason] : "other";
}

#define WAIT_NAME(constant, name) [WAIT_##constant] = #name,

static const char *const wait_names[N_WAIT_STATES] = {WAIT_STATES(WAIT_NAME)};

/* NULL: it is no wait. */
static const char *wait_state_name(const struct view_entry *e)
{
	const unsigned state = aggregate_wait_state(e->entry->wait);

	return state < N_WAIT_STATES ? wait_names[state] : "other";
}

/*
 * The system call that it waits in, NULL: in none. Who is runnable waits for a CPU, wherever that
 * is.
 */
static const char *wait_call_name(const struct view_entry *e, char ret[SYSTEM_CALL_NAME_SIZE])
{
	const int call = aggregate_wait_call(e->entry->wait);

	if (call < 0 || aggregate_wait_state(e->entry->wait) == WAIT_RUNNABLE)
		return NULL;
	system_call_name((unsigned)call, ret);
	return ret;
}

#define LABEL_NAME(label, key, is_on) #key

/* That a sample is a wait has to be seen whatever else is: its state is always there. */
enum { ROW_STACK = N_LABELS, ROW_REASON, ROW_STATE, N_LABEL_ROWS };

static const char *const label_names[N_LABEL_ROWS] = {
	LABELS(LABEL_NAME),
	[ROW_STACK] = "stack",
	[ROW_REASON] = "reason",
	[ROW_STATE] = "state",
};

struct labels {
	struct profile_label all[N_LABEL_ROWS];
	uint32_t n;
};

static int pprof_build_labels(struct pprof_builder *b, const struct view_entry *e,
			      struct labels *labels)
{
	const struct snapshot_process *p = e->process;
	char call[SYSTEM_CALL_NAME_SIZE];
	/* What is no number needs a text that is not empty. */
	const struct {
		bool is_number;
		int64_t number;
		const char *text;
	} rows[N_LABEL_ROWS] = {
		[LABEL_NUMBER_PID] = {true, p->pid, NULL},
		[LABEL_NUMBER_COMM].text = p->comm,
		[LABEL_NUMBER_THREAD].text = e->thread_name,
		[LABEL_NUMBER_TID] = {e->entry->tid != 0, e->entry->tid, NULL},
		[LABEL_NUMBER_SERVICE].text = p->service,
		[LABEL_NUMBER_CGROUP].text = p->cgroup,
		[LABEL_NUMBER_CONTAINER].text = p->container,
		[LABEL_NUMBER_POD].text = p->pod,
		[LABEL_NUMBER_NAMESPACE].text = p->namespace,
		[LABEL_NUMBER_IMAGE].text = p->image,
		[LABEL_NUMBER_VERSION].text = p->program ? image_version(p->program) : NULL,
		[LABEL_NUMBER_WAIT].text = wait_call_name(e, call),
		[LABEL_NUMBER_WAKER].text = pprof_wakers_text(b->wakers, e->entry->waker),
		[ROW_STACK].text = stack_fault(e),
		[ROW_REASON].text = stack_fault_reason(e),
		[ROW_STATE].text = wait_state_name(e),
	};

	labels->n = 0;
	for (unsigned i = 0; i < N_LABEL_ROWS; i++) {
		struct profile_label *label = &labels->all[labels->n];
		const char *text = rows[i].text;
		int r;

		if ((i < N_LABELS && !(b->view->snapshot->labels & 1u << i)) ||
		    (!rows[i].is_number && !(text && *text)))
			continue;
		*label = (struct profile_label){.num = rows[i].number};
		r = profile_add_text(b->profile, label_names[i], &label->key);
		if (!r && text)
			r = profile_add_text(b->profile, text, &label->str);
		if (r)
			return r;
		labels->n++;
	}
	return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

/*
 * Clocks tell time, and so do cycles at a fixed frequency: each sample stands for 1/frequency of a
 * second of a CPU that was not idle. Everything else counts events. Latency and waits beside them
 * have values of their own, the last ones; waits that are sampled alone are what the second value
 * is of.
 */
static int pprof_build_types(struct pprof_builder *b)
{
	const struct snapshot *s = b->view->snapshot;
	struct profile *p = b->profile;
	const char *event;
	int r;

	b->counts_cycles = !s->is_clock && s->frequency && strcmp(s->event, "cycles") == 0;
	p->period = (int64_t)(b->counts_cycles ? NS_PER_S / s->frequency : s->period);
	p->time_ns = (int64_t)s->start_ns;
	p->duration_ns = (int64_t)s->duration_ns;
	event = b->counts_cycles ? "cpu-clock" : s->event;
	/* "cpu-clock:u" and the like measure what the clock does. */
	r = value_types_add(p, s->is_clock && !value_type_of_event(event) ? "cpu-clock" : event);
	if (!r && s->has_latency) {
		b->latency = p->n_sample_types;
		r = value_types_add_latency(p);
	}
	if (!r && s->off_cpu_period) {
		b->waits = p->n_sample_types;
		r = value_types_add_waits(p);
	}
	return r;
}

/* All of them; the first one counts samples. */
static void pprof_values(const struct pprof_builder *b, const struct aggregate_entry *entry,
			 int64_t ret[PROFILE_TYPES_MAX])
{
	const struct snapshot *s = b->view->snapshot;
	const bool is_beside = entry->wait && b->waits;

	memset(ret, 0, PROFILE_TYPES_MAX * sizeof(*ret));
	ret[0] = (int64_t)entry->count;
	ret[1] = is_beside ? 0
		 : b->counts_cycles
			 ? (int64_t)((unsigned __int128)entry->count * NS_PER_S / s->frequency)
			 : (int64_t)entry->weight;
	if (b->latency)
		ret[b->latency] = (int64_t)aggregate_latency(s->aggregate, entry);
	if (is_beside)
		ret[b->waits] = (int64_t)entry->weight;
}

/* --- the profile ------------------------------------------------------------------------------ */

static uint32_t pprof_count_frames(const struct pprof_builder *b, const struct view_entry *e)
{
	uint32_t n = 0;

	for (uint32_t i = pprof_first_frame(b, e); i < e->stack.n_frames; i++)
		n += spots_has_frame(e, i);
	return n;
}

/* Of the sample that was added last. A wall clock is set by more than a bucket, or not at all. */
static int pprof_build_times(struct pprof_builder *b, const struct aggregate_entry *entry)
{
	const struct snapshot *s = b->view->snapshot;
	const int64_t half = s->times_moved_ns < 0 ? -PROFILE_BUCKET_NS / 2 : PROFILE_BUCKET_NS / 2;
	const int64_t moved = (s->times_moved_ns + half) / PROFILE_BUCKET_NS;
	struct aggregate_time time;
	int r = 0;

	for (uint32_t i = entry->times; i && !r; i = time.next) {
		time = aggregate_time(s->aggregate, i);
		r = profile_add_time(b->profile, profile_last_sample(b->profile),
				     (uint64_t)((int64_t)time.bucket + moved) % PROFILE_BUCKET_MAX,
				     aggregate_time_scale(s->aggregate), (uint32_t)time.count);
	}
	return r;
}

static int pprof_build_samples(struct pprof_builder *b)
{
	size_t at = 0;

	for (size_t i = 0; i < b->group->n; i++) {
		const struct view_entry *e = &b->view->entries[b->group->first + i];
		uint32_t n = pprof_count_frames(b, e);
		int64_t values[PROFILE_TYPES_MAX];
		struct labels labels;
		int r = pprof_build_labels(b, e, &labels);

		if (r)
			return r;
		pprof_values(b, e->entry, values);
		if (n == 0)
			n = 1;
		for (uint32_t j = 0; j < n; j++)
			b->frames[at + j] = b->locations[b->frames[at + j]];
		r = profile_add_sample(b->profile, b->frames + at, n, values, labels.all, labels.n)
			    ?: pprof_build_times(b, e->entry);
		if (r)
			return r;
		at += n;
	}
	return 0;
}

static int pprof_build_comments(struct pprof_builder *b)
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

static int pprof_build(struct pprof_builder *b)
{
	int r = profile_new(&b->profile) ?: pprof_build_types(b) ?: pprof_build_comments(b);

	spots_init(&b->spots);
	for (size_t i = 0; i < b->group->n && !r; i++)
		r = pprof_build_frames(b, &b->view->entries[b->group->first + i]);
	return r ?: pprof_mappings_main(&b->mappings, b->profile, b->c, b->view, b->group)
		 ?: pprof_locate(b->c, b->symbolize, &b->spots, &b->mappings, b->profile,
				 &b->locations)
		 ?: pprof_wakers_new(&b->wakers, b->c, b->view, b->group, b->symbolize)
		 ?: pprof_build_samples(b);
}

int output_pprof(const struct context *c, const struct view *view, const struct view_group *group,
		 enum symbolize symbolize, struct profile **ret)
{
	cleanup(pprof_builder_deinit) struct pprof_builder b = {
		.c = c, .view = view, .group = group, .symbolize = symbolize};
	int r = pprof_build(&b);

	if (!r)
		*ret = steal_ptr(&b.profile);
	return r;
}
