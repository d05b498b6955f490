/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/ticker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"

void ticker_init(struct ticker *t, const struct perf_event_attr *attr, size_t ring_bytes,
		 int (*attach)(void *userdata, struct tick *tick), void *userdata)
{
	*t = (struct ticker){
		.attr = *attr,
		.period = attr->freq ? 0 : attr->sample_period,
		.ring_bytes = ring_bytes,
		.attach = attach,
		.userdata = userdata,
	};
}

static void tick_close(struct tick *tick)
{
	perf_ring_unmap(&tick->ring);
	if (tick->link >= 0)
		close(tick->link);
	if (tick->fd >= 0)
		close(tick->fd);
	tick->link = -1;
	tick->fd = -1;
}

void ticker_deinit(struct ticker *t)
{
	for (size_t i = 0; i < t->n_ticks; i++)
		tick_close(&t->ticks[i]);
	free(t->ticks);
	t->ticks = NULL;
	t->n_ticks = 0;
}

static struct tick *find_tick(const struct ticker *t, unsigned cpu)
{
	for (size_t i = 0; i < t->n_ticks; i++)
		if (t->ticks[i].cpu == cpu)
			return &t->ticks[i];
	return NULL;
}

static int add_tick(struct ticker *t, unsigned cpu, struct tick **ret)
{
	struct tick *ticks = realloc(t->ticks, (t->n_ticks + 1) * sizeof(*ticks));

	if (!ticks)
		return error_origin(-ENOMEM);
	t->ticks = ticks;
	*ret = &ticks[t->n_ticks++];
	**ret = (struct tick){.cpu = cpu, .fd = -1, .link = -1};
	return 0;
}

static int tick_open(struct ticker *t, struct tick *tick)
{
	int r;

	tick->fd = perf_open(&t->attr, tick->cpu);
	if (tick->fd == -ENODEV) { /* went offline since we looked */
		tick->fd = -1;
		return 0;
	}
	if (tick->fd < 0) {
		r = tick->fd;
		tick->fd = -1;
		return error_origin(r);
	}
	r = perf_ring_map(&tick->ring, tick->fd, t->ring_bytes, 0);
	if (r == 0 && t->attach)
		r = t->attach(t->userdata, tick);
	if (r == 0 && ioctl(tick->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		r = error_origin(-errno);
	if (r < 0)
		tick_close(tick);
	return r;
}

/* The CPU is gone, and the partial period with it: a new event will start with a whole one. */
static void tick_retire(struct ticker *t, struct tick *tick)
{
	uint64_t due;

	tick_judge(tick, t->period, true);
	due = tick->period_sum +
	      tick->skipped * (tick->runs ? tick->period_sum / tick->runs : t->period);
	tick->counted = due < tick->events ? due : tick->events;
	tick->events = tick->counted;
	tick_close(tick);
}

int ticker_follow(struct ticker *t, const struct cpus *cpus)
{
	struct tick *tick;
	int r;

	for (size_t i = 0; i < t->n_ticks; i++)
		if (t->ticks[i].fd >= 0 && !cpus_has(cpus, t->ticks[i].cpu))
			tick_retire(t, &t->ticks[i]);
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!cpus_has(cpus, cpu))
			continue;
		tick = find_tick(t, cpu);
		if (!tick) {
			r = add_tick(t, cpu, &tick);
			if (r < 0)
				return r;
		}
		if (tick->fd >= 0)
			continue;
		r = tick_open(t, tick);
		if (r < 0)
			return r;
	}
	return 0;
}

bool ticker_differs(const struct ticker *t, const struct cpus *cpus)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->n_ticks; i++) {
		if (t->ticks[i].fd < 0)
			continue;
		if (!cpus_has(cpus, t->ticks[i].cpu))
			return true;
		n++;
	}
	return n != cpus->n;
}

void ticker_stop(struct ticker *t)
{
	for (size_t i = 0; i < t->n_ticks; i++)
		if (t->ticks[i].fd >= 0)
			ioctl(t->ticks[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void ticker_read(struct ticker *t)
{
	for (size_t i = 0; i < t->n_ticks; i++) {
		struct tick *tick = &t->ticks[i];
		uint64_t count;

		/* The event of a CPU that is gone keeps its count, or reads as nothing. */
		if (tick->fd >= 0 && read(tick->fd, &count, sizeof(count)) == sizeof(count))
			tick->events = tick->counted + count;
	}
}

void tick_judge(struct tick *tick, uint64_t period, bool exact)
{
	uint64_t missing = 0, sure;

	if (tick->runs)
		period = tick->period_sum / tick->runs;
	if (period && tick->events > tick->period_sum)
		missing = (tick->events - tick->period_sum) / period;
	sure = exact || missing < tick->missing ? missing : tick->missing;
	if (sure > tick->skipped)
		tick->skipped = sure;
	tick->missing = missing;
}

void ticker_judge(struct ticker *t, bool exact)
{
	for (size_t i = 0; i < t->n_ticks; i++)
		tick_judge(&t->ticks[i], t->period, exact);
}

uint64_t ticker_skipped(const struct ticker *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n_ticks; i++)
		sum += t->ticks[i].skipped;
	return sum;
}

static void drain_throttled(struct ticker *t, struct tick *tick, uint8_t *record)
{
	struct perf_event_header header;
	uint64_t lost;
	size_t length;

	while ((length = perf_ring_read(&tick->ring, record)) > 0) {
		memcpy(&header, record, sizeof(header));
		if (header.type == PERF_RECORD_THROTTLE)
			t->throttled++;
		/* struct { header; u64 id; u64 lost; } */
		if (header.type == PERF_RECORD_LOST && length >= sizeof(header) + 16) {
			memcpy(&lost, record + sizeof(header) + 8, sizeof(lost));
			t->throttled += (lost + 1) / 2;
		}
	}
}

void ticker_drain_throttled(struct ticker *t)
{
	uint8_t record[PERF_RING_RECORD_MAX];

	for (size_t i = 0; i < t->n_ticks; i++)
		drain_throttled(t, &t->ticks[i], record);
}

size_t ticker_bytes(const struct ticker *t)
{
	size_t sum = t->n_ticks * sizeof(*t->ticks);

	for (size_t i = 0; i < t->n_ticks; i++)
		sum += perf_ring_bytes(&t->ticks[i].ring);
	return sum;
}
