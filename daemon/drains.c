/* SPDX-License-Identifier: MIT */
/*
 * A drain takes what the rings have, process events first. The rings wake the loop when there is
 * much, a timer ten times a second at least. Three rules keep what is drained from being all
 * that happens: a drain has a budget, one that was long lets all others have a turn, and one that
 * came soon after another is followed by a rest.
 */
#include "daemon/drains.h"

#include <stdbool.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/random_number.h"
#include "daemon/daemon_private.h"

#define LONG_DRAIN_NS 20000000u
#define DRAIN_BUDGET  8192 /* samples */

/*
 * Rings go before everything that waits. Where a drain has left something or took long, there may
 * be no end of it, and all others have a turn before the next one: requests, timers and the
 * watchdog run however much there is to sample, and however little of the CPUs profd gets.
 */
static int daemon_rank_rings(struct daemon *d, bool give_way)
{
	sd_event_source *const sources[] = {d->source_io, d->rest_timer, d->drain_timer};
	int64_t priority = give_way ? PRIORITY_OTHERS : PRIORITY_RINGS;
	int r = 0;

	for (size_t i = 0; r >= 0 && give_way != d->rings_wait && i < ARRAY_SIZE(sources); i++)
		r = sd_event_source_set_priority(sources[i], priority);
	d->rings_wait = give_way;
	return r < 0 ? error_origin(r) : 0;
}

static int daemon_drain_rings(struct daemon *d)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	const char *complaint;
	int drained, r;

	drained = source_drain(d->source, DRAIN_BUDGET);
	if (drained < 0)
		return drained;
	if (drained == SOURCE_E_OK)
		process_table_drained(d->processes);
	r = daemon_rank_rings(d, drained == SOURCE_E_MORE ||
					 clock_ns(CLOCK_MONOTONIC) - began > LONG_DRAIN_NS);
	if (r)
		return r;
	r = unwinder_after_drain(d->unwinder, clock_ns(CLOCK_MONOTONIC))
		    ?: unwinder_error(d->unwinder);
	if (r || drained != SOURCE_E_END)
		return r;
	/* It stays readable, and rings go before everything: nothing else would run any more. */
	r = sd_event_source_set_enabled(d->source_io, SD_EVENT_OFF);
	if (r < 0)
		return error_origin(r);
	complaint = source_replay_warning(d->source);
	if (complaint)
		log_warning("%s", complaint);
	return d->stopping ? 0 : daemon_stop(d);
}

/* It is events' time until there is a sample: once for all that a drain does. */
static int daemon_drain(struct daemon *d)
{
	enum cpu_cause before = cpu_causes_switch(&d->cpu_causes, CPU_EVENTS);
	int r = daemon_drain_rings(d);

	cpu_causes_switch(&d->cpu_causes, before);
	return r;
}

/*
 * A program that makes records without end would wake profd for each few of them, and each time
 * costs as much as a hundred: rings that wake it within RINGS_REST_NS of the last drain rest for as
 * long, and others run.
 */
int daemon_rest_rings(struct daemon *d, uint64_t woken_ns)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + RINGS_REST_NS;
	int r;

	if (d->replay || d->rings_wait || woken_ns > d->drained_ns + RINGS_REST_NS)
		return 0;
	r = sd_event_source_set_enabled(d->source_io, SD_EVENT_OFF);
	return r < 0 ? error_origin(r) : daemon_rearm(d->rest_timer, until / 1000);
}

int daemon_on_rest_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;

	(void)source, (void)usec;
	return sd_event_source_set_enabled(d->source_io, SD_EVENT_ON);
}

int daemon_on_source(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *d = userdata;
	uint64_t woken_ns = clock_ns(CLOCK_MONOTONIC);
	int r;

	(void)source, (void)fd, (void)events;
	r = daemon_drain(d) ?: daemon_rest_rings(d, woken_ns);
	d->drained_ns = clock_ns(CLOCK_MONOTONIC);
	return r;
}

/* Programs that another source samples: they come and go. */
int daemon_on_shim(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *d = userdata;

	(void)source, (void)fd, (void)events;
	return source_drain(d->shim, DRAIN_BUDGET);
}

/*
 * Wakeups from the rings are batched, so this timer is what bounds a sample's wait. How late it
 * runs is how late samples are drained at worst. It is random, as events' periods change when it
 * runs: what always came at the same places of somebody's cycle would be in step with that.
 */
int daemon_on_drain_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), due = usec * 1000;
	int r;

	lateness_add(&d->lateness, now > due ? now - due : 0);
	r = daemon_drain(d);
	if (r)
		return r;
	now = clock_ns(CLOCK_MONOTONIC);
	due += DRAIN_NS - random_below(DRAIN_NS / 5);
	if (due < now)
		due = now + DRAIN_NS;
	return daemon_rearm(source, due / 1000);
}
