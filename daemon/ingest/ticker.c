/* SPDX-License-Identifier: MIT */
/*
 * One struct tick a CPU. Missing ticks are the event's count, by the period, less those that came;
 * /proc/stat's idle time of the CPU says how many of them would have met nobody (ticker.h).
 */
#include "daemon/ingest/ticker.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/random_number.h"
#include "daemon/ingest/perf_admin.h"

#define TICK_VARY_NS    75000000 /* less than between two drains by the timer */
#define VARY_AT_ONCE    32       /* events; others another time, where there are more CPUs */
#define SPREAD_LEAST    (UINT32_MAX / 8)
#define LIMIT_LOOK_NS   (10 * NS_PER_S)
#define PERIOD_LEAST_NS 10000 /* of clocks: perf_swevent_hrtimer() in kernel/events/core.c */

static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* The kernel turns a clock's frequency into a period; a counter's it adapts on and on. */
static uint64_t first_period(const struct perf_event_attr *attr)
{
	if (!attr->freq)
		return attr->sample_period;
	return is_clock(attr) && attr->sample_freq ? NS_PER_S / attr->sample_freq : 0;
}

uint64_t ticker_clock_period(const struct perf_event_attr *attr)
{
	return is_clock(attr) ? first_period(attr) : 0;
}

void ticker_init(struct ticker *t, const struct perf_event_attr *attr, size_t ring_bytes,
		 int (*attach)(void *userdata, struct tick *tick), void *userdata)
{
	*t = (struct ticker){
		.attr = *attr,
		.period = first_period(attr),
		.ring_bytes = ring_bytes,
		.attach = attach,
		.userdata = userdata,
	};
}

static void tick_close(struct tick *tick)
{
	perf_ring_unmap(&tick->ring);
	closep(&tick->link);
	closep(&tick->fd);
	tick->link = tick->fd = -1;
}

void ticker_deinit(struct ticker *t)
{
	for (size_t i = 0; i < t->n_ticks; i++)
		tick_close(&t->ticks[i]);
	free(t->ticks);
	t->ticks = NULL;
	t->n_ticks = 0;
}

int tick_watch(void *epoll_fd, struct tick *tick)
{
	struct epoll_event wake = {.events = EPOLLIN, .data.fd = tick->fd};

	if (epoll_ctl(*(const int *)epoll_fd, EPOLL_CTL_ADD, tick->fd, &wake) < 0)
		return error_origin(-errno);
	return 0;
}

static struct tick *find_tick(const struct ticker *t, unsigned cpu)
{
	for (size_t i = 0; i < t->n_ticks; i++)
		if (t->ticks[i].cpu == cpu)
			return &t->ticks[i];
	return NULL;
}

int ticker_fd(const struct ticker *t, unsigned cpu)
{
	const struct tick *tick = find_tick(t, cpu);

	return tick ? tick->fd : -1;
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
	int fd = t->counts_elsewhere ? perf_open_silent(&t->attr, tick->cpu)
				     : perf_admin_open(&t->attr, PERF_ALL_TASKS, (int)tick->cpu);
	int r;

	tick->varied = tick->ahead = 0;
	if (fd == -ENODEV) /* went offline since we looked */
		return 0;
	if (fd < 0)
		return error_origin(fd);
	tick->fd = fd;
	r = perf_ring_map(&tick->ring, fd, t->ring_bytes, t->ring_least);
	if (r == 0 && t->attach)
		r = t->attach(t->userdata, tick);
	if (r == 0 && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
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
	due = tick->period_sum + (tick->skipped + tick->idle_found) *
					 (tick->runs ? tick->period_sum / tick->runs : t->period);
	tick->counted = due < tick->events ? due : tick->events;
	tick->events = tick->counted;
	tick_close(tick);
}

static uint64_t idle_unit_ns(void)
{
	return NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* The CPUs' lines come first, and before them that of all CPUs together. */
bool idle_next(FILE *stat, unsigned *ret_cpu, uint64_t *ret_ns)
{
	uint64_t idle, waiting;
	char line[512];

	while (stat && fgets(line, sizeof(line), stat) && !strncmp(line, "cpu", 3)) {
		if (line[3] == ' ' || sscanf(line, "cpu%u %*u %*u %*u %" SCNu64 " %" SCNu64,
					     ret_cpu, &idle, &waiting) != 3)
			continue;
		*ret_ns = (idle + waiting) * idle_unit_ns();
		return true;
	}
	return false;
}

/*
 * What was read is up to a unit less than it is: that is added once there is any. A CPU's number
 * can be smaller than before, by some units of iowait (proc(5)), or when it was offline.
 */
static void tick_add_idle(struct tick *tick, uint64_t idle_ns)
{
	uint64_t since = idle_ns - tick->idle_since;

	if (since > INT64_MAX || !since)
		return;
	if (since + idle_unit_ns() > tick->idle_ns)
		tick->idle_ns = since + idle_unit_ns();
}

/* @begins: of those whose events are about to be opened. */
static void read_idle(struct ticker *t, bool begins)
{
	cleanup(fclosep) FILE *stat = NULL;
	uint64_t idle_ns;
	unsigned cpu;

	if (is_clock(&t->attr) && !t->counts_elsewhere)
		stat = fopen("/proc/stat", "re");
	while (idle_next(stat, &cpu, &idle_ns)) {
		struct tick *tick = find_tick(t, cpu);

		if (!tick || (tick->fd < 0) != begins)
			continue;
		if (begins)
			tick->idle_since = idle_ns - tick->idle_ns;
		else
			tick_add_idle(tick, idle_ns);
	}
}

int ticker_follow(struct ticker *t, const struct cpus *cpus)
{
	struct tick *tick;
	int r;

	for (size_t i = 0; i < t->n_ticks; i++)
		if (t->ticks[i].fd >= 0 && !cpus_has(cpus, t->ticks[i].cpu))
			tick_retire(t, &t->ticks[i]);
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!cpus_has(cpus, cpu) || find_tick(t, cpu))
			continue;
		r = add_tick(t, cpu, &tick);
		if (r < 0)
			return r;
	}
	read_idle(t, true);
	for (size_t i = 0; i < t->n_ticks; i++) {
		tick = &t->ticks[i];
		if (tick->fd >= 0 || !cpus_has(cpus, tick->cpu))
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

uint64_t tick_vary_period(uint64_t period, uint32_t spread, uint32_t random)
{
	const uint64_t one = UINT64_C(1) << 32, more = (uint64_t)spread * random >> 32;
	const uint64_t varied = (uint64_t)((unsigned __int128)period * one / (one + more));

	return varied > PERIOD_LEAST_NS || varied > period ? varied
	       : period < PERIOD_LEAST_NS                  ? period
							   : PERIOD_LEAST_NS;
}

/* The limit is of each jiffy, so that some room is left to it. */
uint32_t tick_spread(uint64_t period, uint64_t max_hz)
{
	const double most = (double)max_hz * 7 / 8 * (double)period / (double)NS_PER_S;

	return !max_hz || most >= 2 ? UINT32_MAX
	       : most <= 1          ? 0
				    : (uint32_t)((most - 1) * UINT32_MAX);
}

static void ticker_look_at_limit(struct ticker *t, uint64_t now_ns)
{
	cleanup(fclosep) FILE *f = NULL;
	uint64_t max_hz;

	if (t->limit_ns && now_ns - t->limit_ns < LIMIT_LOOK_NS)
		return;
	t->limit_ns = now_ns;
	f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	if (!f || fscanf(f, "%" SCNu64, &max_hz) != 1)
		max_hz = 0;
	t->spread = tick_spread(t->period, max_hz);
}

/* The kernel begins the new period at once. What cannot be changed stays as it is. */
static void tick_vary(const struct ticker *t, struct tick *tick, uint64_t period)
{
	if (t->vary(t->userdata, tick, period) < 0)
		return;
	if (ioctl(tick->fd, PERF_EVENT_IOC_PERIOD, &period) == 0)
		tick->varied = period;
	else
		(void)t->vary(t->userdata, tick, tick->varied);
}

void ticker_vary(struct ticker *t, uint64_t now_ns)
{
	const uint64_t least_ns = 2 * t->period > TICK_VARY_NS ? 2 * t->period : TICK_VARY_NS;
	size_t first, n = t->n_ticks < VARY_AT_ONCE ? t->n_ticks : VARY_AT_ONCE;

	if (!t->vary || !n || now_ns - t->varied_ns < least_ns)
		return;
	t->varied_ns = now_ns;
	ticker_look_at_limit(t, now_ns);
	first = random_below((uint32_t)t->n_ticks);
	for (size_t k = 0; k < n && t->spread >= SPREAD_LEAST; k++) {
		const size_t i = (first + k) % t->n_ticks;

		if (t->ticks[i].fd >= 0 && random_below(2))
			tick_vary(t, &t->ticks[i],
				  tick_vary_period(t->period, t->spread, random_number()));
	}
}

void ticker_stop(struct ticker *t)
{
	t->vary = NULL;
	for (size_t i = 0; i < t->n_ticks; i++)
		if (t->ticks[i].fd >= 0)
			ioctl(t->ticks[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void ticker_read(struct ticker *t)
{
	for (size_t i = 0; i < t->n_ticks && !t->counts_elsewhere; i++) {
		struct tick *tick = &t->ticks[i];
		uint64_t count;

		/* The event of a CPU that is gone keeps its count, or reads as nothing. */
		if (tick->fd >= 0 && read(tick->fd, &count, sizeof(count)) == sizeof(count))
			tick->events = tick->counted + count;
	}
	read_idle(t, false);
}

/* The most idle ticks that can be among the missing ones. */
static uint64_t idle_owed(const struct tick *tick, uint64_t period)
{
	uint64_t due = tick->events / period, idle = tick->idle_ns / period;

	if (idle > due)
		idle = due;
	if (!idle)
		return 0;
	idle += (uint64_t)sqrt(4.0 * (double)idle * (double)(due - idle) / (double)due);
	return idle > tick->idle ? idle - tick->idle : 0;
}

static uint64_t tick_less(uint64_t from, uint64_t less)
{
	return from > less ? from - less : 0;
}

/* Which of @n more skipped ticks were outside the filter. Counts may be of different moments. */
static void tick_split_skipped(struct tick *tick, uint64_t n)
{
	uint64_t all_busy = tick_less(tick->runs, tick->idle), all_excluded = tick->excluded;
	uint64_t busy = tick_less(all_busy, tick->split_busy);
	uint64_t excluded = tick_less(all_excluded, tick->split_excluded);

	/* None came since: as at all times before. */
	if (!busy) {
		busy = all_busy;
		excluded = all_excluded;
	}
	if (excluded > busy)
		excluded = busy;
	if (busy)
		tick->skipped_outside += (double)n * (double)excluded / (double)busy;
	tick->split_busy = all_busy;
	tick->split_excluded = all_excluded;
}

/* skipped and idle_found never fall, and together are what surely is missing. */
void tick_judge(struct tick *tick, uint64_t period, bool exact)
{
	uint64_t missing = 0, sure, found = tick->skipped + tick->idle_found, owed = 0, lead, ahead;

	if (!tick->ahead && tick->runs)
		period = tick->period_sum / tick->runs;
	ahead = tick->ahead ? tick->ahead : period;
	lead = tick_less(tick->events, tick->period_sum);
	if (period && lead >= ahead)
		missing = (lead - ahead) / period + 1;
	missing -= missing < tick->undue ? missing : tick->undue;
	sure = exact || missing < tick->missing ? missing : tick->missing;
	tick->missing = missing;
	if (sure <= found)
		return;
	if (tick->idle_ns && period)
		owed = idle_owed(tick, period);
	if (owed < tick->idle_found)
		owed = tick->idle_found;
	if (sure > owed && sure - owed > tick->skipped) {
		tick_split_skipped(tick, sure - owed - tick->skipped);
		tick->skipped = sure - owed;
	}
	tick->idle_found = sure - tick->skipped;
}

void ticker_judge(struct ticker *t, bool exact)
{
	for (size_t i = 0; i < t->n_ticks; i++)
		tick_judge(&t->ticks[i], t->period, exact);
}

void ticker_get_stats(const struct ticker *t, struct source_stats *ret)
{
	ret->throttled = t->throttled;
	ret->idle = ret->lost[LOST_SKIPPED] = 0;
	for (size_t i = 0; i < t->n_ticks; i++) {
		ret->idle += t->ticks[i].idle + t->ticks[i].idle_found;
		ret->lost[LOST_SKIPPED] += t->ticks[i].skipped -
					   (uint64_t)t->ticks[i].skipped_outside;
	}
}

uint64_t ticker_skipped_outside(const struct ticker *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n_ticks; i++)
		sum += (uint64_t)t->ticks[i].skipped_outside;
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

size_t ticker_smallest_ring(const struct ticker *t)
{
	size_t smallest = SIZE_MAX;

	for (size_t i = 0; i < t->n_ticks; i++)
		if (t->ticks[i].ring.page && t->ticks[i].ring.data_bytes < smallest)
			smallest = t->ticks[i].ring.data_bytes;
	return smallest;
}
