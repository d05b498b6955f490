/* SPDX-License-Identifier: MIT */
/*
 * Two questions decide about a sample: does its process fit the target (asked of the process, so
 * that it can also be asked when a process is born), and do its thread and CPU. A target pid is
 * kept as a set of members by serial number: the process that was meant, what it execs, and, with
 * children, what it forks.
 */
#include "daemon/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/store/names.h"
#include "daemon/session/window.h"

#define WAKER_FRAMES 24

struct session_member {
	uint64_t serial;
	struct process *process; /* owned reference */
	UT_hash_handle hh;
};

int session_new(struct session **ret, uint64_t id, const Profd__Control__Start *start)
{
	cleanup(session_freep) struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return error_origin(-ENOMEM);
	s->id = id;
	s->n_samplings = 1;
	for (unsigned i = 0; i < LEDGERS_MAX; i++)
		s->samplings[i].sampler = SESSION_NO_SAMPLER;
	s->target.kind = start->target;
	s->target.number = start->number;
	s->target.children = start->children;
	if (start->target == TARGET_CPUS)
		cpus_parse((const uint8_t *)start->text, strlen(start->text), &s->target.cpus);
	s->target.text = strdup(start->text);
	if (!s->target.text)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&s);
	return SESSION_E_OK;
}

static void session_remove_member(struct session *s, struct session_member *m)
{
	HASH_DEL(s->members, m);
	process_unref(m->process);
	free(m);
}

void session_free(struct session *s)
{
	struct session_member *m, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->members, m, next)
		session_remove_member(s, m);
	window_free(s->window);
	while (s->untaken.n)
		snapshot_free(s->untaken.snapshots[--s->untaken.n]);
	free(s->waiters);
	if (s->hold.holder)
		reply_ok(s->hold.holder);
	free(s->target.text);
	free(s->name);
	free(s->directory);
	free(s);
}

void session_describe_target(const struct session *s, char *text, size_t size)
{
	static const char *const kinds[] = {
		[TARGET_PID] = "pid",   [TARGET_TID] = "tid",   [TARGET_SERVICE] = "service",
		[TARGET_UID] = "uid",   [TARGET_COMM] = "comm", [TARGET_CGROUP] = "cgroup",
		[TARGET_CPUS] = "cpus",
	};
	const struct session_target *t = &s->target;

	if (t->kind == TARGET_ALL)
		snprintf(text, size, "all");
	else if (target_is_task(t->kind) || t->kind == TARGET_UID)
		snprintf(text, size, "%s %" PRId64 "%s", kinds[t->kind], t->number,
			 t->kind == TARGET_PID && t->children ? " and children" : "");
	else
		snprintf(text, size, "%s %s", kinds[t->kind], t->text);
}

bool session_is_member(const struct session *s, const struct process *p)
{
	struct session_member *m;

	HASH_FIND(hh, s->members, &p->serial, sizeof(p->serial), m);
	return m;
}

static int session_add_member(struct session *s, struct process *p)
{
	struct session_member *m;

	if (session_is_member(s, p))
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return error_origin(-ENOMEM);
	m->serial = p->serial;
	m->process = process_ref(p);
	HASH_ADD(hh, s->members, serial, sizeof(m->serial), m);
	return 0;
}

/* A group holds what lies below it, too. */
static bool in_cgroup(const char *cgroup, const char *wanted)
{
	size_t length = strlen(wanted);

	while (length > 1 && wanted[length - 1] == '/')
		length--;
	if (!cgroup || strncmp(cgroup, wanted, length) != 0)
		return false;
	return cgroup[length] == '\0' || cgroup[length] == '/' || length == 1;
}

/* Whether who owns the session may look into @p. */
static bool session_may_see(const struct session *s, const struct process *p)
{
	return s->privileged || (p->uid_known && p->only_uid && p->uid == s->owner);
}

bool session_wants_process(const struct session *s, const struct process *p)
{
	if (!session_may_see(s, p))
		return false;
	switch (s->target.kind) {
	case TARGET_ALL:
	case TARGET_CPUS:
	case TARGET_COMM:
		return true;
	case TARGET_PID:
	case TARGET_TID:
		return session_is_member(s, p);
	case TARGET_UID:
		return p->uid_known && (int64_t)p->uid == s->target.number;
	case TARGET_SERVICE:
		return names_match_service(s->target.text, process_unit_service(p->unit));
	case TARGET_CGROUP:
		return in_cgroup(p->unit->cgroup, s->target.text);
	default:
		return false;
	}
}

int session_process_born(struct session *s, struct process *p, const struct process *parent)
{
	if (!target_is_task(s->target.kind))
		return 0;
	if (p->serial == s->target.process)
		return session_add_member(s, p);
	if (parent && session_is_member(s, parent) && (s->target.children || p->pid == parent->pid))
		return session_add_member(s, p);
	return 0;
}

bool session_target_ended(const struct session *s)
{
	return target_is_task(s->target.kind) && !s->members;
}

void session_sweep(struct session *s, uint64_t before_ns)
{
	struct session_member *m, *next;

	HASH_ITER (hh, s->members, m, next)
		if (m->process->swept_ns && m->process->swept_ns < before_ns)
			session_remove_member(s, m);
}

static bool in_list(char *const *list, const char *text)
{
	for (; list && *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

static bool session_wants_sample(const struct session *s, const struct sample *sample,
				 const struct process *p)
{
	if (s->paused_until_ns || !session_wants_process(s, p))
		return false;
	switch (s->target.kind) {
	case TARGET_TID:
		return sample->tid == s->target.number;
	case TARGET_CPUS:
		return cpus_has(&s->target.cpus, sample->cpu);
	case TARGET_COMM:
		return strcmp(sample->comm, s->target.text) == 0 ||
		       strcmp(p->comm, s->target.text) == 0;
	default:
		return !in_list(s->exclude_services, process_unit_service(p->unit)) &&
		       !in_list(s->exclude_comms, p->comm);
	}
}

/* Of a wait only what is of the session: one that shares its sampler may have begun before. */
static uint64_t session_weight(const struct session *s, const struct sample *sample)
{
	if (sample->wait == WAIT_NONE || sample->time_ns <= s->attached_ns ||
	    sample->weight <= sample->time_ns - s->attached_ns)
		return sample->weight;
	return sample->time_ns - s->attached_ns;
}

/* Samples of a counter have no period that is known. */
static uint64_t session_period(const struct sampler_spec *spec)
{
	return spec->is_period ? spec->rate : spec->event.is_clock ? NS_PER_S / spec->rate : 0;
}

/* Cycles at a fixed frequency tell time, too. */
uint64_t session_cpu_period(const struct session *s)
{
	const struct sampler_spec *spec = &s->samplings[0].spec;

	if (spec->event.cause == CAUSE_SCHEDULER)
		return 0;
	if (spec->event.is_clock)
		return session_period(spec);
	return !spec->is_period && strcmp(spec->event.name, "cycles") == 0 ? NS_PER_S / spec->rate
									   : 0;
}

static int session_add_latency(struct session *s, const struct sample *sample, struct process *p)
{
	const bool is_clock = s->samplings[0].spec.event.is_clock;

	return window_add_latency(s->window, p, sample,
				  is_clock ? sample->weight : session_cpu_period(s));
}

/* @r: of adding @key to the window. */
static int session_note_added(struct session *s, const struct sample *sample, struct process *p,
			      const struct aggregate_key *key, int r)
{
	if (!r && s->writing.latency && !key->wait)
		r = session_add_latency(s, sample, p);
	if (r < 0)
		return r;
	if (r)
		return r == AGGREGATE_E_NEW ? SESSION_E_SHARE : SESSION_E_FULL;
	s->counts.routed++;
	s->counts.counted++;
	stack_counts_add(&s->counts.stacks, key->stack.quality, key->stack.reason, 1);
	return SESSION_E_OK;
}

int session_add(struct session *s, const struct sample *sample, struct process *p)
{
	struct aggregate_key key = {
		.process = p->stay,
		.generation = mappings_generation(p->mappings, sample->time_ns),
		.tid = s->writing.labels & LABEL_TID ? (uint32_t)sample->tid : 0,
		.wait = aggregate_wait((enum wait_state)sample->wait, sample->call),
		.waker = window_find_waker(s->window, sample->waker),
		.thread_name = s->writing.labels & LABEL_THREAD ? sample->comm : "",
		.stack = {.frames = sample->frames,
			  .n_frames = sample->n_frames,
			  .n_kernel = (uint16_t)sample->n_kernel,
			  .quality = (uint8_t)sample->quality,
			  .reason = (uint8_t)sample->reason},
	};
	int r;

	if (!session_wants_sample(s, sample, p)) {
		s->counts.routed++;
		s->counts.filtered++;
		return SESSION_E_OK;
	}
	r = window_add(s->window, p, &key, sample->time_ns, session_weight(s, sample));
	return session_note_added(s, sample, p, &key, r);
}

int session_add_cut(struct session *s, const struct sample *sample, struct process *p)
{
	const struct aggregate_key key = {
		.process = p->stay,
		.generation = mappings_generation(p->mappings, sample->time_ns),
		.wait = aggregate_wait((enum wait_state)sample->wait, WAIT_NO_CALL),
		.thread_name = "",
		.stack = {.quality = STACK_TRUNCATED, .reason = TRUNCATED_SHARE},
	};
	int r = window_add_anyway(s->window, p, &key, sample->time_ns, session_weight(s, sample));

	return session_note_added(s, sample, p, &key, r);
}

/* "kworker" of kworker/0:1: there is one for each CPU, and more. */
static int waker_name_length(const char *comm)
{
	const char *slash = strchr(comm, '/');

	return (int)(slash && strncmp(comm, "irq/", 4) != 0 && strncmp(comm, "jbd2/", 5) != 0
			     ? (size_t)(slash - comm)
			     : strlen(comm));
}

/*
 * Stores the thread's name and its innermost frames; of an interrupt, frames only. Omits what the
 * owner may not see, which the kernel's addresses are a part of.
 */
int session_add_waker(struct session *s, const struct sample *sample, struct process *p)
{
	const bool is_cut = sample->n_frames > WAKER_FRAMES;
	struct aggregate_key key = {.thread_name = sample->comm,
				    .stack = {.frames = sample->frames,
					      .n_frames = is_cut ? WAKER_FRAMES : sample->n_frames,
					      .quality = is_cut ? STACK_TRUNCATED
								: (uint8_t)sample->quality}};
	char name[SAMPLE_COMM_SIZE];
	int r;

	if (!(s->writing.labels & LABEL_WAKER) || (p && !session_may_see(s, p)))
		return 0;
	if (p) {
		key.process = p->stay;
		key.generation = mappings_generation(p->mappings, sample->time_ns);
	} else {
		snprintf(name, sizeof(name), "%.*s",
			 sample->by_interrupt ? 0 : waker_name_length(sample->comm), sample->comm);
		key.thread_name = name;
		if (!s->privileged || s->hide_kernel)
			key.stack.n_frames = 0;
		key.stack.n_kernel = (uint16_t)key.stack.n_frames;
	}
	r = window_add_waker(s->window, p, &key, sample->by_interrupt, sample->waker);
	return r < 0 ? r : 0;
}

void session_drop(struct session *s, enum dropped_reason reason)
{
	s->counts.routed++;
	s->counts.dropped[reason]++;
}

/* What was counted is so no more. */
static void session_revert_counts(struct session *s, const struct stack_counts *stacks,
				  enum dropped_reason reason)
{
	uint64_t n = stack_counts_total(stacks);

	s->counts.counted -= n;
	s->counts.dropped[reason] += n;
	stack_counts_subtract(&s->counts.stacks, stacks);
}

void session_count_unwritten(struct session *s, const struct aggregate *aggregate)
{
	struct stack_counts lost;

	window_stack_counts(aggregate, &lost);
	session_revert_counts(s, &lost, DROPPED_UNWRITTEN);
}

/* By what it is sampled: as it was up to now, also when its samplers are about to be gone. */
static void session_describe_sampling(const struct session *s, struct snapshot *snapshot)
{
	const struct sampler_spec *spec = &s->samplings[0].spec, *waits = &s->samplings[1].spec;

	snapshot->is_clock = spec->event.is_clock;
	snprintf(snapshot->event, sizeof(snapshot->event), "%s", spec->event.name);
	snapshot->period = session_period(spec);
	snapshot->frequency = spec->is_period ? 0 : spec->rate;
	if (s->n_samplings < 2 || s->samplings[1].sampler == SESSION_NO_SAMPLER)
		return;
	snapshot->off_cpu_period = session_period(waits);
	snapshot->off_cpu_frequency = waits->is_period ? 0 : waits->rate;
}

/* A snapshot that has what is the session's. */
static int session_make_snapshot(const struct session *s, struct snapshot **ret)
{
	cleanup(snapshot_freep) struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return error_origin(-ENOMEM);
	snapshot->session = s->id;
	snapshot->owner = s->owner;
	snapshot->has_share = s->id && !s->privileged;
	snapshot->formats = s->writing.formats;
	snapshot->labels = s->writing.labels;
	snapshot->symbolize = s->writing.symbolize;
	snapshot->hide_kernel = s->hide_kernel;
	snapshot->has_latency = s->writing.latency && session_cpu_period(s);
	session_describe_sampling(s, snapshot);
	if (s->directory) {
		snapshot->session_name = strdup(s->directory);
		if (!snapshot->session_name)
			return error_origin(-ENOMEM);
	}
	*ret = steal_ptr(&snapshot);
	return 0;
}

int session_snapshot_window(struct session *s, const struct moment *end,
			    const struct ledgers *ledgers, const struct window_filter *copied,
			    struct snapshot **ret, struct window_closing *ret_closing)
{
	cleanup(window_freep) struct window *closed = copied ? NULL : steal_ptr(&s->window);
	struct window *window = copied ? s->window : closed;
	cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	int r;

	if (closed)
		s->counts.lost += window_lost(closed, ledgers);
	if (!window || !window_count(window))
		return SESSION_E_EMPTY;
	r = session_make_snapshot(s, &snapshot)
		    ?: window_fill_snapshot(window, end, ledgers, copied, snapshot, ret_closing);
	if (r)
		return r;
	if (!aggregate_count(snapshot->aggregate))
		return SESSION_E_EMPTY;
	*ret = steal_ptr(&snapshot);
	return SESSION_E_OK;
}

struct snapshot *session_pop_snapshot(struct session *s)
{
	struct snapshot *snapshot = s->untaken.snapshots[0];

	if (!s->untaken.n)
		return NULL;
	s->untaken.n--;
	memmove(s->untaken.snapshots, s->untaken.snapshots + 1,
		s->untaken.n * sizeof(*s->untaken.snapshots));
	return snapshot;
}

static void session_drop_oldest(struct session *s)
{
	cleanup(snapshot_freep) struct snapshot *snapshot = session_pop_snapshot(s);

	session_count_unwritten(s, snapshot->aggregate);
}

void session_push_snapshot(struct session *s, struct snapshot *snapshot)
{
	if (s->untaken.n == SESSION_UNTAKEN_MAX)
		session_drop_oldest(s);
	s->untaken.snapshots[s->untaken.n++] = snapshot;
}

void session_drop_snapshots(struct session *s)
{
	while (s->untaken.n)
		session_drop_oldest(s);
	s->untaken.is_over = true;
}

int session_restore_window(struct session *s, struct snapshot *snapshot,
			   const struct window_closing *closing)
{
	struct stack_counts dropped;
	int r;

	r = window_restore(s->window, snapshot, closing, &dropped);
	if (r)
		return r;
	session_revert_counts(s, &dropped, DROPPED_MEMORY);
	return 0;
}
