/* SPDX-License-Identifier: MIT */
/*
 * Where BPF cannot be had: the same samplers, with the kernel's own samples in a perf ring per CPU
 * and sampler. The filter runs here, after the sample was taken and transported; idle CPUs
 * send samples too, as only that tells what a tick met.
 *
 * The kernel walks its own stack; of the user's it copies the registers and the topmost part, and
 * every walk is left to the sink of the samples: all with a user stack carry a rest. See
 * source_perf_stack.h for how much that is, and for those without.
 *
 * What a perf sample does not say:
 * - Whether a user pc is exact or where a system call returns to: perf_record.h tells what is made
 *   of that. Where the program's arguments begin: walks end at roots by other signs.
 * - Thread name, start of the process, cgroup: unknown to this source.
 * - That the ring was full, until there is room again and another record to come: losses right
 *   before a sampler is stopped count as skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/ingest/members.h"
#include "daemon/ingest/own_tasks.h"
#include "daemon/ingest/perf_admin.h"
#include "daemon/ingest/perf_record.h"
#include "daemon/ingest/process_events.h"
#include "daemon/ingest/source_perf_stack.h"
#include "daemon/ingest/sources.h"
#include "daemon/ingest/ticker.h"

#define LOOK_INTERVAL_NS NS_PER_S
#define EVENTS_PER_LOOK  512
#define FIND_INTERVAL_NS (2 * NS_PER_S)
/* A perf event is a kilobyte or two of the kernel's memory, which nobody bounds but us. */
#define EVENTS_MAX 16384

struct perf_sampler {
	unsigned index;
	struct sampler_spec *spec;  /* the source's */
	struct source_stats *stats; /* the same */
	struct ticker ticker;
	struct perf_plan plan;
	uint64_t sample_type;
};

struct perf_source {
	struct source source;    /* its fd is an epoll instance */
	struct source_sink sink; /* ours: follows fork before it hands on */
	struct process_events *events;
	struct members members;          /* ours, unless they are sampled, by OWN_SAMPLER */
	struct own_tasks *tasks_of_user; /* NULL: the events are of all that a CPU runs */
	bool sees_kernel;
	uint64_t found_ns; /* when threads were last looked for */
	struct perf_sampler samplers[SAMPLERS_MAX];
	struct perf_tasks tasks;
	uint64_t events_until; /* process events up to here have been delivered */
	uint64_t looked_ns;    /* when skipped ticks were last looked for */
	uint64_t unfollowed;
	struct perf_sample sample;
	uint8_t record[PERF_RING_RECORD_MAX];
};

static void perf_source_on_process_event(void *userdata, const struct process_event *event)
{
	struct perf_source *s = userdata;

	if (members_follow(&s->members, event) < 0)
		s->unfollowed++;
	if (event->kind == PROCESS_EVENT_FORK)
		perf_tasks_forget(&s->tasks, event->tid);
	if (s->tasks_of_user && own_tasks_apply(s->tasks_of_user, event) < 0)
		s->unfollowed++;
	s->source.options.sink->process_event(s->source.options.sink->userdata, event);
}

/* --- without privileges: the events are those of the user's own threads (own_tasks.h) --------- */

static int perf_own_ring_fd(void *userdata, unsigned kind, unsigned cpu)
{
	const struct perf_source *s = userdata;

	return kind == OWN_TASKS_RECORDS ? process_events_fd(s->events, cpu)
					 : ticker_fd(&s->samplers[kind].ticker, cpu);
}

/* Half of the file descriptors: images stay open, too. */
static unsigned perf_own_max_events(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 > EVENTS_MAX)
		return EVENTS_MAX;
	return (unsigned)(limit.rlim_cur / 2);
}

/* On ourselves first: what that refuses, every thread will. As perf_event_open(2) has it. */
static int perf_own_add_kind(struct perf_source *s, unsigned kind, struct perf_event_attr attr)
{
	int fd;

	attr.inherit = 1;
	attr.disabled = 1;
	fd = perf_admin_open(&attr, 0, -1);
	if (fd < 0)
		return error_origin(fd);
	close(fd);
	return own_tasks_add_kind(s->tasks_of_user, kind, &attr);
}

/* Finds the user's processes, and begins to follow them. Returns 0 or negative errno. */
static int perf_own_begin(struct perf_source *s)
{
	struct own_tasks_options options = {
		.proc_fd = s->tasks.proc_fd,
		.uid = geteuid(),
		.self = &s->members,
		.max_events = perf_own_max_events(),
		.ring = perf_own_ring_fd,
		.userdata = s,
		.sink = s->source.options.sink,
	};
	struct perf_event_attr attr;
	struct cpus cpus;
	int r;

	r = own_tasks_new(&s->tasks_of_user, &options)
		?: cpus_read_online(&cpus)
		?: own_tasks_follow(s->tasks_of_user, &cpus);
	if (r)
		return r;
	process_events_attr(&attr);
	attr.exclude_kernel = 1;
	r = perf_own_add_kind(s, OWN_TASKS_RECORDS, attr);
	s->found_ns = clock_ns(CLOCK_MONOTONIC);
	return r ? r : own_tasks_look(s->tasks_of_user, s->found_ns);
}

/* ticker_read() for either sort of events. */
static void perf_sampler_read(struct perf_source *s, struct perf_sampler *sampler)
{
	unsigned index = sampler->index;

	ticker_read(&sampler->ticker);
	if (!s->tasks_of_user)
		return;
	for (size_t i = 0; i < sampler->ticker.n_ticks; i++) {
		struct tick *tick = &sampler->ticker.ticks[i];

		tick->events = own_tasks_read(s->tasks_of_user, index, tick->cpu);
		tick->undue = own_tasks_alive(s->tasks_of_user, index);
	}
}

/* How long to wait until counts are read again: those of many events take their time. */
static uint64_t perf_source_look_interval_ns(const struct perf_source *s)
{
	unsigned n = s->tasks_of_user ? own_tasks_events(s->tasks_of_user) : 0;

	return LOOK_INTERVAL_NS * (1 + n / EVENTS_PER_LOOK);
}

static uint64_t perf_memory_bytes(struct source *source)
{
	const struct perf_source *s = (struct perf_source *)source;
	uint64_t sum = process_events_ring_bytes(s->events);

	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			sum += ticker_bytes(&s->samplers[i].ticker);
	return sum;
}

/* For each CPU's ring of a new sampler: half of what is left; the rest is for the next one. */
static uint64_t memory_left(struct perf_source *s, unsigned n_cpus)
{
	uint64_t limit = s->source.options.memory_bytes, used = perf_memory_bytes(&s->source);

	return used < limit ? (limit - used) / 2 / (n_cpus ? n_cpus : 1) : 0;
}

/* The filter, and what becomes of the tick. */
static bool accept_sample(struct perf_source *s, struct perf_sampler *sampler, struct tick *tick,
			  const struct perf_sample *p)
{
	const struct event *event = &sampler->spec->event;
	unsigned index = sampler->index;

	/* What is not in our pid namespace has no pid; what has no user side may be idle. */
	if (!p->pid && !p->tid && (p->user_mode || p->has_user)) {
		sampler->stats->excluded++;
		sampler->stats->outside++;
		return false;
	}
	if (!p->pid && !p->tid) {
		tick->idle++;
		return false;
	}
	if (s->tasks_of_user && !own_tasks_counts(s->tasks_of_user, index, p->tid, p->id)) {
		sampler->stats->excluded++;
		return false;
	}
	if ((s->source.options.exclude_self && p->pid == getpid()) ||
	    members_has(&s->members, OWN_SAMPLER, p->pid)) {
		sampler->stats->excluded++;
		sampler->stats->self++;
		return false;
	}
	if ((event_excludes_by_source(event) &&
	     (p->user_mode ? event->exclude_user : event->exclude_kernel)) ||
	    (!sampler->spec->all && !members_has(&s->members, index, p->pid))) {
		sampler->stats->excluded++;
		return false;
	}
	sampler->stats->seen++;
	return true;
}

static int perf_deliver_sample(struct perf_source *s, struct perf_sampler *sampler,
			       struct perf_sample *p)
{
	struct sample_rest rest;
	struct sample sample = {
		.time_ns = p->time_ns,
		.weight = p->period,
		.pid = p->pid,
		.tid = p->tid,
		.cpu = p->cpu,
		.sampler = (uint16_t)sampler->index,
		.n_kernel = p->n_kernel,
		.n_frames = p->n_kernel,
		.frames = p->kernel,
	};
	int r;

	if (p->time_ns > s->events_until) {
		r = process_events_drain(s->events, &s->events_until);
		if (r < 0)
			return r;
	}
	perf_tasks_judge(&s->tasks, p, sampler->plan.stack_bytes > 0, &sample, &rest);
	s->source.options.sink->sample(s->source.options.sink->userdata, &sample);
	return 0;
}

/* { header; u64 id, lost; }: ticks of which nobody knows what they met; counted as samples. */
static void perf_sampler_count_lost(struct perf_sampler *sampler, struct tick *tick,
				    const uint8_t *record, size_t length)
{
	uint64_t lost;

	if (length < sizeof(struct perf_event_header) + 16)
		return;
	memcpy(&lost, record + sizeof(struct perf_event_header) + 8, sizeof(lost));
	sampler->stats->seen += lost;
	sampler->stats->lost[LOST_RING_FULL] += lost;
	tick->period_sum += lost * (tick->runs ? tick->period_sum / tick->runs : 0);
	tick->runs += lost;
}

/* Returns 0, 1 if a sample was delivered, or negative errno. */
static int handle_perf_record(struct perf_source *s, struct perf_sampler *sampler,
			      struct tick *tick, size_t length)
{
	struct perf_event_header header;
	int r;

	memcpy(&header, s->record, sizeof(header));
	switch (header.type) {
	case PERF_RECORD_LOST:
		perf_sampler_count_lost(sampler, tick, s->record, length);
		return 0;
	case PERF_RECORD_THROTTLE:
		sampler->ticker.throttled++;
		return 0;
	case PERF_RECORD_SAMPLE:
		break;
	default:
		return 0;
	}
	if (perf_record_sample(s->record, length, sampler->sample_type, &s->sample) !=
	    PERF_RECORD_E_OK) {
		sampler->stats->seen++;
		sampler->stats->lost[LOST_MALFORMED]++;
		return 0;
	}
	tick->runs++;
	tick->period_sum += s->sample.period;
	if (!accept_sample(s, sampler, tick, &s->sample))
		return 0;
	r = perf_deliver_sample(s, sampler, &s->sample);
	return r < 0 ? r : 1;
}

/* Each ring; of what comes meanwhile, as much as SOURCE_DRAIN_NS allows. */
static int drain_sampler(struct perf_source *s, struct perf_sampler *sampler, unsigned *budget)
{
	uint64_t ends_ns = s->events_until + SOURCE_DRAIN_NS, until_ns;
	size_t length;
	int r;

	for (size_t i = 0; i < sampler->ticker.n_ticks; i++) {
		struct tick *tick = &sampler->ticker.ticks[i];
		bool is_late = false;

		while (*budget && !is_late &&
		       (length = perf_ring_read(&tick->ring, s->record)) > 0) {
			until_ns = s->events_until;
			r = handle_perf_record(s, sampler, tick, length);
			if (r < 0)
				return r;
			*budget -= (unsigned)r;
			is_late = s->events_until != until_ns && s->events_until >= ends_ns;
		}
	}
	return 0;
}

/*
 * The counts must be older than the ticks that are compared with them: read before the rings are
 * drained, judged when the rings have nothing as old. About once a second, as it interrupts each
 * CPU.
 */
static int perf_drain(struct source *source, unsigned budget)
{
	struct perf_source *s = (struct perf_source *)source;
	bool looks = clock_ns(CLOCK_MONOTONIC) - s->looked_ns >= perf_source_look_interval_ns(s);
	int r;

	for (unsigned i = 0; looks && i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			perf_sampler_read(s, &s->samplers[i]);
	r = process_events_drain(s->events, &s->events_until);
	for (unsigned i = 0; r == 0 && budget && i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			r = drain_sampler(s, &s->samplers[i], &budget);
	if (r < 0)
		return r;
	if (!budget)
		return SOURCE_E_MORE;
	for (unsigned i = 0; looks && i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			ticker_judge(&s->samplers[i].ticker, false);
	if (looks)
		s->looked_ns = clock_ns(CLOCK_MONOTONIC);
	return SOURCE_E_OK;
}

static void fill_attr(const struct perf_source *s, struct perf_sampler *sampler,
		      struct perf_event_attr *ret)
{
	sampler->sample_type = PERF_RECORD_SAMPLE_TYPE;
	if (s->tasks_of_user)
		sampler->sample_type |= PERF_SAMPLE_ID;
	if (sampler->plan.stack_bytes)
		sampler->sample_type |= PERF_SAMPLE_STACK_USER;
	event_attr(sampler->spec, ret);
	ret->sample_type = sampler->sample_type;
	ret->exclude_callchain_kernel = !sampler->spec->kernel_stacks;
	ret->exclude_callchain_user = 1;
	ret->sample_regs_user = perf_record_registers;
	ret->sample_stack_user = sampler->plan.stack_bytes;
	ret->use_clockid = 1;
	ret->clockid = CLOCK_MONOTONIC;
	ret->watermark = 1;
	ret->wakeup_watermark = (uint32_t)(sampler->plan.ring_bytes / 2);
	ret->exclude_kernel |= !s->sees_kernel;
}

/*
 * Opens the events of @sampler. A limit on locked memory makes the rings smaller than planned; then
 * another plan is made for what the kernel grants, as a ring that holds but a few stacks loses most
 * of them. Returns 0, SOURCE_E_FULL, or negative errno, as perf_event_open(2) has it.
 */
static int open_sampler(struct perf_source *s, struct perf_sampler *sampler,
			const struct cpus *cpus)
{
	uint64_t most = memory_left(s, cpus->n), granted;
	uint64_t ticks_between_drains = event_ticks_per_second(sampler->spec) *
					s->source.options.drain_ms / 1000;
	struct perf_event_attr attr;
	int r;

	for (;;) {
		sampler->plan = perf_plan_make(most, ticks_between_drains);
		if (!sampler->plan.ring_bytes)
			return SOURCE_E_FULL;
		fill_attr(s, sampler, &attr);
		ticker_init(&sampler->ticker, &attr, sampler->plan.ring_bytes, tick_watch,
			    &s->source.fd);
		sampler->ticker.counts_elsewhere = s->tasks_of_user;
		r = ticker_follow(&sampler->ticker, cpus);
		if (r < 0)
			break;
		granted = ticker_smallest_ring(&sampler->ticker);
		if (granted >= sampler->plan.ring_bytes || !sampler->plan.stack_bytes)
			return 0;
		ticker_deinit(&sampler->ticker);
		most = granted > PERF_PLAN_RING_LEAST ? granted : PERF_PLAN_RING_LEAST;
	}
	ticker_deinit(&sampler->ticker);
	return r;
}

static int perf_add_sampler(struct source *source, unsigned index, struct source_message *message)
{
	struct perf_source *s = (struct perf_source *)source;
	struct perf_sampler *sampler = &s->samplers[index];
	struct cpus cpus;
	int r;

	r = cpus_read_online(&cpus);
	if (r < 0)
		return r;
	*sampler = (struct perf_sampler){.index = index,
					 .spec = &source->samplers[index].spec,
					 .stats = &source->samplers[index].stats};
	r = open_sampler(s, sampler, &cpus);
	if (r == SOURCE_E_OK && s->tasks_of_user) {
		r = perf_own_add_kind(s, index, sampler->ticker.attr);
		if (r < 0)
			ticker_deinit(&sampler->ticker);
	}
	if (r == SOURCE_E_FULL)
		return source_refuse(message, r,
				     "no memory for more ring buffers: %sraise [memory] budget",
				     perf_memory_bytes(&s->source) ? SOURCE_STOP_ANOTHER : "");
	return r < 0 ? event_explain(r, sampler->spec, message) : r;
}

static int perf_remove_sampler(struct source *source, unsigned index)
{
	struct perf_source *s = (struct perf_source *)source;
	struct perf_sampler *sampler = &s->samplers[index];
	int r;

	ticker_stop(&sampler->ticker);
	if (s->tasks_of_user)
		own_tasks_remove_kind(s->tasks_of_user, index);
	perf_sampler_read(s, sampler);
	do {
		r = perf_drain(source, UINT32_MAX);
	} while (r == SOURCE_E_MORE);
	ticker_judge(&sampler->ticker, true);
	ticker_get_stats(&sampler->ticker, sampler->stats);
	ticker_deinit(&sampler->ticker);
	members_remove_sampler(&s->members, index);
	return r;
}

static bool perf_pid_is_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

static int perf_filter_pid(struct source *source, unsigned index, pid_t pid, bool adds,
			   bool children)
{
	struct perf_source *s = (struct perf_source *)source;

	if (adds)
		return perf_pid_is_alive(pid) ? members_add(&s->members, index, pid, children)
					      : SOURCE_E_GONE;
	members_remove(&s->members, index, pid);
	return SOURCE_E_OK;
}

/* Looks for threads and CPUs, about every second. Returns 0 or negative errno. */
static int perf_own_follow(struct perf_source *s, const struct cpus *cpus)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r;

	r = own_tasks_follow(s->tasks_of_user, cpus);
	if (r || now - s->found_ns < FIND_INTERVAL_NS)
		return r;
	s->found_ns = now;
	return own_tasks_look(s->tasks_of_user, now);
}

/* What the rings of CPUs that went away still hold must be out before they are closed. */
static int perf_follow_cpus(struct source *source)
{
	struct perf_source *s = (struct perf_source *)source;
	bool differs = false;
	struct cpus cpus;
	int r;

	members_sweep(&s->members, perf_pid_is_alive);
	r = cpus_read_online(&cpus);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			differs |= ticker_differs(&s->samplers[i].ticker, &cpus);
	if (differs) {
		s->looked_ns = 0;
		do {
			r = perf_drain(source, UINT32_MAX);
		} while (r == SOURCE_E_MORE);
		if (r < 0)
			return r;
	}
	r = process_events_follow(s->events, &cpus);
	for (unsigned i = 0; r == 0 && i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used && ticker_differs(&s->samplers[i].ticker, &cpus))
			r = ticker_follow(&s->samplers[i].ticker, &cpus);
	return r || !s->tasks_of_user ? r : perf_own_follow(s, &cpus);
}

static int perf_update_stats(struct source *source, unsigned index)
{
	struct perf_source *s = (struct perf_source *)source;
	struct source_stats *stats = &source->samplers[index].stats;

	if (source->samplers[index].used)
		ticker_get_stats(&s->samplers[index].ticker, stats);
	stats->unfollowed = s->unfollowed;
	if (s->tasks_of_user)
		stats->unattached = own_tasks_unattached(s->tasks_of_user);
	return SOURCE_E_OK;
}

static void perf_free(struct source *source)
{
	struct perf_source *s = (struct perf_source *)source;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			ticker_deinit(&s->samplers[i].ticker);
	own_tasks_free(s->tasks_of_user);
	process_events_free(s->events);
	members_deinit(&s->members);
	closep(&s->tasks.proc_fd);
	free(s);
}

static const struct source_ops perf_ops = {
	.name = "perf",
	.free = perf_free,
	.drain = perf_drain,
	.add_sampler = perf_add_sampler,
	.remove_sampler = perf_remove_sampler,
	.filter_pid = perf_filter_pid,
	.follow_cpus = perf_follow_cpus,
	.update_stats = perf_update_stats,
	.memory_bytes = perf_memory_bytes,
};

int source_perf_new(struct source **ret, const struct source_options *options,
		    struct source_message *message)
{
	cleanup(source_freep) struct source *owner = source_new(sizeof(struct perf_source),
								&perf_ops, options);
	struct perf_source *s = (struct perf_source *)owner;
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	s->sink = (struct source_sink){.process_event = perf_source_on_process_event,
				       .userdata = s};
	s->sees_kernel = true;
	s->tasks.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->tasks.proc_fd < 0)
		return error_origin(-errno);
	s->source.fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->source.fd < 0)
		return error_origin(-errno);
	r = options->own_only ? own_events_try(&s->sees_kernel, message) : 0;
	if (r == 0 && options->exclude_children)
		r = own_processes_add(&s->members, s->tasks.proc_fd, getpid());
	if (r == 0)
		r = process_events_new(&s->events, &s->source, &s->sink, options->own_only,
				       message);
	if (r == 0 && options->own_only)
		r = perf_own_begin(s);
	if (r)
		return r;
	*ret = steal_ptr(&owner);
	return SOURCE_E_OK;
}
