/* SPDX-License-Identifier: MIT */
/*
 * The perf source without privileges: the same rings, but the events that write into them are those
 * of the user's own threads (own_tasks.h).
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/ingest/event.h"
#include "daemon/ingest/source_perf_private.h"

#define LOOK_INTERVAL_NS NS_PER_S
#define EVENTS_PER_LOOK  512
#define FIND_INTERVAL_NS (2 * NS_PER_S)
/* A perf event is a kilobyte or two of the kernel's memory, which nobody bounds but us. */
#define EVENTS_MAX 16384

static int perf_own_ring_fd(void *userdata, unsigned kind, unsigned cpu)
{
	const struct perf_source *s = userdata;

	return kind == OWN_TASKS_RECORDS ? process_events_fd(s->events, cpu)
					 : ticker_fd(&s->samplers[kind].ticker, cpu);
}

static void perf_own_forward_event(void *userdata, const struct process_event *event)
{
	struct perf_source *s = userdata;

	s->source.options.sink->process_event(s->source.options.sink->userdata, event);
}

/* Half of the file descriptors: images stay open, too. */
static unsigned perf_own_max_events(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 > EVENTS_MAX)
		return EVENTS_MAX;
	return (unsigned)(limit.rlim_cur / 2);
}

int source_perf_own_begin(struct perf_source *s)
{
	struct own_tasks_options options = {
		.proc_fd = s->tasks.proc_fd,
		.uid = geteuid(),
		.self = s->own,
		.max_events = perf_own_max_events(),
		.ring = perf_own_ring_fd,
		.tell = perf_own_forward_event,
		.userdata = s,
	};
	struct perf_event_attr attr;
	struct cpus cpus;
	int r;

	r = own_tasks_new(&s->tasks_of_user, &options);
	if (!r)
		r = cpus_read_online(&cpus);
	if (!r)
		r = own_tasks_follow(s->tasks_of_user, &cpus);
	if (r)
		return r;
	process_events_attr(&attr);
	attr.exclude_kernel = 1;
	r = own_tasks_add_kind(s->tasks_of_user, OWN_TASKS_RECORDS, &attr);
	s->found_ns = clock_ns(CLOCK_MONOTONIC);
	return r ? r : own_tasks_look(s->tasks_of_user, s->found_ns);
}

int source_perf_own_add(struct perf_source *s, struct perf_sampler *sampler)
{
	unsigned index = sampler->index;
	int r;

	if (!s->tasks_of_user)
		return 0;
	r = own_tasks_add_kind(s->tasks_of_user, index, &sampler->ticker.attr);
	if (r < 0)
		ticker_deinit(&sampler->ticker);
	return r;
}

int source_perf_own_follow(struct perf_source *s, const struct cpus *cpus)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r;

	if (!s->tasks_of_user)
		return 0;
	r = own_tasks_follow(s->tasks_of_user, cpus);
	if (r || now - s->found_ns < FIND_INTERVAL_NS)
		return r;
	s->found_ns = now;
	return own_tasks_look(s->tasks_of_user, now);
}

void source_perf_read(struct perf_source *s, struct perf_sampler *sampler)
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

/* Those of many events take their time. */
uint64_t source_perf_look_interval_ns(const struct perf_source *s)
{
	unsigned n = s->tasks_of_user ? own_tasks_events(s->tasks_of_user) : 0;

	return LOOK_INTERVAL_NS * (1 + n / EVENTS_PER_LOOK);
}
