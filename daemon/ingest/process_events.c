/* SPDX-License-Identifier: MIT */
/*
 * A drain notes the time, then moves all rings' records into one buffer, sorts them by time, and
 * delivers those up to the noted time. What came later stays in the buffer: older events may
 * still be waiting in a ring that was read before it.
 */
#include "daemon/ingest/process_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/ingest/perf_admin.h"
#include "daemon/ingest/perf_record.h"
#include "daemon/ingest/perf_ring.h"

#define RING_MOST    (512 * 1024)
#define RING_LEAST   (16 * 1024)
#define WAKEUP_BYTES 4096 /* dearer to the machine when less, see the watermark of perf rings */

struct event_cpu {
	unsigned cpu;
	int fd;
	struct perf_ring ring;
};

/* A record in the buffer. */
struct pending {
	uint64_t time_ns;
	uint64_t sequence; /* among equals, the order in which they were read */
	size_t offset;
	size_t length;
};

struct process_events {
	const struct source_sink *sink;
	int epoll;
	size_t max_bytes;
	bool elsewhere;
	struct event_cpu *cpus;
	size_t n_cpus;
	uint8_t *bytes;
	size_t n_bytes, bytes_allocated;
	struct pending *pending;
	size_t n_pending, pending_allocated;
	uint64_t sequence;
	uint8_t record[PERF_RING_RECORD_MAX];
};

int process_events_new(struct process_events **ret, const struct process_events_options *options)
{
	struct process_events *p = calloc(1, sizeof(*p));

	if (!p)
		return error_origin(-ENOMEM);
	p->sink = options->sink;
	p->epoll = options->epoll;
	p->max_bytes = options->max_bytes;
	p->elsewhere = options->elsewhere;
	*ret = p;
	return 0;
}

static void event_cpu_close(struct event_cpu *c)
{
	perf_ring_unmap(&c->ring);
	if (c->fd >= 0)
		close(c->fd);
}

void process_events_free(struct process_events *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_cpus; i++)
		event_cpu_close(&p->cpus[i]);
	free(p->cpus);
	free(p->bytes);
	free(p->pending);
	free(p);
}

/*
 * mmap without mmap_data: executable mappings only. No build_id: then device and inode come, which
 * are there for every file. wakeup_watermark, as wakeup_events counts samples, of which a dummy
 * event has none.
 */
void process_events_attr(struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){
		.size = sizeof(*ret),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_RECORD_PROCESS_SAMPLE_TYPE,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = WAKEUP_BYTES,
		.disabled = 1,
	};
}

static int event_cpu_open(struct process_events *p, unsigned cpu, size_t ring_bytes,
			  struct event_cpu *ret)
{
	struct epoll_event wake = {.events = EPOLLIN};
	struct event_cpu c = {.cpu = cpu};
	struct perf_event_attr attr;
	int r;

	process_events_attr(&attr);
	c.fd = p->elsewhere ? perf_open_silent(&attr, cpu)
			    : perf_admin_open(&attr, PERF_ALL_TASKS, (int)cpu);
	if (c.fd < 0)
		return c.fd == -ENODEV ? c.fd : error_origin(c.fd);
	r = perf_ring_map(&c.ring, c.fd, ring_bytes, RING_LEAST);
	wake.data.fd = c.fd;
	if (r == 0 && (epoll_ctl(p->epoll, EPOLL_CTL_ADD, c.fd, &wake) < 0 ||
		       ioctl(c.fd, PERF_EVENT_IOC_ENABLE, 0) < 0))
		r = error_origin(-errno);
	if (r < 0)
		event_cpu_close(&c);
	else
		*ret = c;
	return r;
}

/* Something was not understood: to the receiver it is as good as lost. */
static void deliver_lost(struct process_events *p, uint64_t time_ns)
{
	const struct process_event event = {
		.kind = PROCESS_EVENT_LOST,
		.time_ns = time_ns,
		.lost = 1,
	};

	p->sink->process_event(p->sink->userdata, &event);
}

static int process_events_append(struct process_events *p, const uint8_t *record, size_t length,
				 uint64_t time_ns)
{
	void *moved;

	if (p->n_bytes + length > p->bytes_allocated) {
		moved = realloc(p->bytes, p->bytes_allocated * 2 + length);
		if (!moved)
			return error_origin(-ENOMEM);
		p->bytes = moved;
		p->bytes_allocated = p->bytes_allocated * 2 + length;
	}
	if (p->n_pending == p->pending_allocated) {
		size_t n = p->pending_allocated ? p->pending_allocated * 2 : 64;

		moved = reallocarray(p->pending, n, sizeof(*p->pending));
		if (!moved)
			return error_origin(-ENOMEM);
		p->pending = moved;
		p->pending_allocated = n;
	}
	memcpy(p->bytes + p->n_bytes, record, length);
	p->pending[p->n_pending++] = (struct pending){
		.time_ns = time_ns,
		.sequence = p->sequence++,
		.offset = p->n_bytes,
		.length = length,
	};
	p->n_bytes += length;
	return 0;
}

/* Moves all that @c's ring holds into the buffer. */
static int process_events_read_ring(struct process_events *p, struct event_cpu *c, uint64_t now)
{
	uint64_t n_malformed = c->ring.n_malformed;
	uint64_t time_ns;
	size_t length;
	int r;

	while ((length = perf_ring_read(&c->ring, p->record)) > 0) {
		if (perf_record_time(p->record, length, &time_ns) != PERF_RECORD_E_OK) {
			deliver_lost(p, now);
			continue;
		}
		r = process_events_append(p, p->record, length, time_ns);
		if (r < 0)
			return r;
	}
	if (c->ring.n_malformed != n_malformed)
		deliver_lost(p, now);
	return 0;
}

int process_events_fd(const struct process_events *p, unsigned cpu)
{
	for (size_t i = 0; i < p->n_cpus; i++)
		if (p->cpus[i].cpu == cpu)
			return p->cpus[i].fd;
	return -1;
}

static int add_cpu(struct process_events *p, unsigned cpu, size_t ring_bytes)
{
	struct event_cpu *moved = reallocarray(p->cpus, p->n_cpus + 1, sizeof(*moved));
	int r;

	if (!moved)
		return error_origin(-ENOMEM);
	p->cpus = moved;
	r = event_cpu_open(p, cpu, ring_bytes, &p->cpus[p->n_cpus]);
	if (r == -ENODEV) /* went offline since we looked */
		return 0;
	if (r == 0)
		p->n_cpus++;
	return r;
}

int process_events_follow(struct process_events *p, const struct cpus *cpus)
{
	size_t ring_bytes = cpus->n ? p->max_bytes / cpus->n : 0;
	int r;

	for (size_t i = 0; i < p->n_cpus;) {
		if (cpus_has(cpus, p->cpus[i].cpu)) {
			i++;
			continue;
		}
		r = process_events_read_ring(p, &p->cpus[i], clock_ns(CLOCK_MONOTONIC));
		if (r < 0)
			return r;
		event_cpu_close(&p->cpus[i]);
		p->cpus[i] = p->cpus[--p->n_cpus];
	}
	if (ring_bytes > RING_MOST)
		ring_bytes = RING_MOST;
	for (unsigned cpu = 0; p->n_cpus < cpus->n && cpu < CPUS_MAX; cpu++) {
		if (!cpus_has(cpus, cpu) || process_events_fd(p, cpu) >= 0)
			continue;
		r = add_cpu(p, cpu, ring_bytes);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_pending(const void *left, const void *right)
{
	const struct pending *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static void process_events_deliver(struct process_events *p, const struct pending *pending)
{
	struct process_event event;

	switch (perf_record_process_event(p->bytes + pending->offset, pending->length, &event)) {
	case PERF_RECORD_E_OK:
		p->sink->process_event(p->sink->userdata, &event);
		break;
	case PERF_RECORD_E_MALFORMED:
		deliver_lost(p, pending->time_ns);
		break;
	default:
		break;
	}
}

static int compare_offsets(const void *left, const void *right)
{
	const struct pending *a = left, *b = right;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Keeps the undelivered records, from index @first on, at the buffer's beginning. */
static void process_events_compact(struct process_events *p, size_t first)
{
	size_t n = p->n_pending - first, at = 0;

	memmove(p->pending, p->pending + first, n * sizeof(*p->pending));
	/* By place, so that moving down overwrites nothing that is still to be moved. */
	qsort(p->pending, n, sizeof(*p->pending), compare_offsets);
	for (size_t i = 0; i < n; i++) {
		memmove(p->bytes + at, p->bytes + p->pending[i].offset, p->pending[i].length);
		p->pending[i].offset = at;
		at += p->pending[i].length;
	}
	p->n_pending = n;
	p->n_bytes = at;
}

int process_events_drain(struct process_events *p, uint64_t *ret_until)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC);
	size_t i;
	int r;

	for (i = 0; i < p->n_cpus; i++) {
		r = process_events_read_ring(p, &p->cpus[i], until);
		if (r < 0)
			return r;
	}
	if (p->n_pending) {
		qsort(p->pending, p->n_pending, sizeof(*p->pending), compare_pending);
		for (i = 0; i < p->n_pending && p->pending[i].time_ns <= until; i++)
			process_events_deliver(p, &p->pending[i]);
		process_events_compact(p, i);
	}
	*ret_until = until;
	return 0;
}

size_t process_events_bytes(const struct process_events *p)
{
	size_t sum = p->bytes_allocated + p->pending_allocated * sizeof(*p->pending) + sizeof(*p);

	for (size_t i = 0; i < p->n_cpus; i++)
		sum += perf_ring_bytes(&p->cpus[i].ring);
	return sum;
}
