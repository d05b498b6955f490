/* SPDX-License-Identifier: MIT */
/*
 * A drain notes the time, then takes all rings' records, sorts them by time, and delivers those up
 * to the noted time. What came later is kept: older events may still be waiting in a ring that was
 * read before it.
 */
#include "daemon/ingest/process_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/order.h"
#include "common/room.h"
#include "daemon/ingest/perf_record.h"
#include "daemon/ingest/sources.h"
#include "daemon/ingest/ticker.h"

#define MEMORY_PART  4 /* of the source's, for all rings together */
#define RING_MOST    (512 * 1024)
#define RING_LEAST   (16 * 1024)
#define KEEP_BYTES   (64 * 1024)
#define WAKEUP_BYTES 4096 /* dearer to the machine when less, see the watermark of perf rings */

/* A record that was read; or an event that was added, without a path. */
struct process_events_pending {
	uint64_t time_ns;
	uint64_t number;         /* among equals, the order in which they were read */
	size_t at;               /* in bytes */
	uint32_t size, is_event; /* it is a struct process_event */
};

struct process_events {
	const struct source_sink *sink;
	struct cpu_causes *cpu_causes;
	int epoll_fd;
	size_t max_bytes;
	struct ticker ticker; /* whose rings hold records, of events that never happen */
	struct process_events_pending *pending;
	size_t n_pending, pending_allocated;
	uint8_t *bytes; /* of what is pending */
	size_t n_bytes, bytes_allocated;
	uint64_t n_read;
	process_events_read_fn also;
	void *also_userdata;
	uint8_t record[PERF_RING_RECORD_MAX];
};

void process_events_free(struct process_events *p)
{
	if (!p)
		return;
	ticker_deinit(&p->ticker);
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

/* So that the next one is where either kind may be. */
static size_t pending_bytes(size_t size)
{
	return (size + 7) / 8 * 8;
}

static int process_events_append(struct process_events *p, const void *what, size_t size,
				 bool is_event, uint64_t time_ns)
{
	size_t at = p->n_bytes, end = at + pending_bytes(size);
	int r = room_make(&p->bytes, &p->bytes_allocated, end, 1)
			?: room_append(&p->pending, &p->pending_allocated, &p->n_pending,
				       (struct process_events_pending){.time_ns = time_ns,
								       .number = p->n_read++,
								       .at = at,
								       .size = (uint32_t)size,
								       .is_event = is_event});

	if (r)
		return r;
	memcpy(p->bytes + at, what, size);
	p->n_bytes = end;
	return 0;
}

int process_events_add(struct process_events *p, const struct process_event *event)
{
	return process_events_append(p, event, sizeof(*event), true, event->time_ns);
}

void process_events_also(struct process_events *p, process_events_read_fn read, void *userdata)
{
	p->also = read;
	p->also_userdata = userdata;
}

/* p->also has it as well, and is right where this is not. */
static bool process_events_is_twice(const struct process_events *p)
{
	struct perf_event_header header;

	memcpy(&header, p->record, sizeof(header));
	return p->also && header.type == PERF_RECORD_EXIT;
}

/* Takes what @ring holds up to @until. */
static int process_events_read_ring(struct process_events *p, struct perf_ring *ring,
				    uint64_t until)
{
	uint64_t n_malformed = ring->n_malformed;
	uint64_t time_ns = 0;
	size_t length;
	int r;

	while (time_ns <= until && (length = perf_ring_read(ring, p->record)) > 0) {
		if (perf_record_time(p->record, length, &time_ns) != PERF_RECORD_E_OK) {
			deliver_lost(p, until);
			continue;
		}
		if (process_events_is_twice(p))
			continue;
		r = process_events_append(p, p->record, length, false, time_ns);
		if (r < 0)
			return r;
	}
	if (ring->n_malformed != n_malformed)
		deliver_lost(p, until);
	return 0;
}

int process_events_fd(const struct process_events *p, unsigned cpu)
{
	return ticker_fd(&p->ticker, cpu);
}

int process_events_follow(struct process_events *p, const struct cpus *cpus)
{
	size_t share = cpus->n ? p->max_bytes / cpus->n : 0;
	int r;

	if (!ticker_differs(&p->ticker, cpus))
		return 0;
	for (size_t i = 0; i < p->ticker.n_ticks; i++) {
		struct tick *tick = &p->ticker.ticks[i];

		if (cpus_has(cpus, tick->cpu))
			continue;
		r = process_events_read_ring(p, &tick->ring, clock_ns(CLOCK_MONOTONIC));
		if (r < 0)
			return r;
	}
	p->ticker.ring_bytes = share < RING_MOST ? share : RING_MOST;
	return ticker_follow(&p->ticker, cpus);
}

int process_events_new(struct process_events **ret, const struct source *source,
		       const struct source_sink *sink, bool elsewhere,
		       struct source_message *message)
{
	static const struct sampler_spec spec = {.event = {.name = "process events"}};
	cleanup(process_events_freep) struct process_events *p = calloc(1, sizeof(*p));
	struct perf_event_attr attr;
	struct cpus cpus;
	int r;

	if (!p)
		return error_origin(-ENOMEM);
	p->sink = sink;
	p->cpu_causes = source->options.cpu_causes;
	p->epoll_fd = source->fd;
	p->max_bytes = source->options.memory_bytes / MEMORY_PART;
	process_events_attr(&attr);
	ticker_init(&p->ticker, &attr, 0, tick_watch, &p->epoll_fd);
	p->ticker.ring_least = RING_LEAST;
	p->ticker.counts_elsewhere = elsewhere;
	r = cpus_read_online(&cpus);
	if (r < 0)
		return r;
	r = process_events_follow(p, &cpus);
	if (r < 0)
		return event_explain(r, &spec, message);
	*ret = steal_ptr(&p);
	return SOURCE_E_OK;
}

static int compare_pending(const void *left, const void *right)
{
	const struct process_events_pending *a = left, *b = right;

	return order_of(a->time_ns, b->time_ns) ?: order_of(a->number, b->number);
}

static void process_events_deliver(struct process_events *p,
				   const struct process_events_pending *pending)
{
	const void *what = p->bytes + pending->at;
	struct process_event event;

	if (pending->is_event) {
		p->sink->process_event(p->sink->userdata, what);
		return;
	}
	switch (perf_record_process_event(what, pending->size, &event)) {
	case PERF_RECORD_E_OK:
		/* Outside our pid namespace: kernel/events/core.c, perf_event_pid_type(). */
		if (event.pid <= 0 && event.kind != PROCESS_EVENT_LOST)
			break;
		p->sink->process_event(p->sink->userdata, &event);
		break;
	case PERF_RECORD_E_MALFORMED:
		deliver_lost(p, pending->time_ns);
		break;
	default:
		break;
	}
}

static int compare_places(const void *left, const void *right)
{
	const struct process_events_pending *a = left, *b = right;

	return order_of(a->at, b->at);
}

/* What a burst has allocated goes; not the rest, as most programs that begin cause a drain. */
static void process_events_shrink(struct process_events *p)
{
	size_t wanted = p->n_bytes > KEEP_BYTES ? p->n_bytes : KEEP_BYTES;
	uint8_t *bytes;

	if (p->bytes_allocated / 4 <= wanted)
		return;
	bytes = realloc(p->bytes, wanted);
	if (!bytes)
		return;
	p->bytes = bytes;
	p->bytes_allocated = wanted;
}

/* Of what is pending, all but the first @n. */
static void process_events_keep(struct process_events *p, size_t n)
{
	struct process_events_pending *kept = p->pending + n;

	p->n_pending -= n;
	p->n_bytes = 0;
	qsort(kept, p->n_pending, sizeof(*kept), compare_places);
	for (size_t i = 0; i < p->n_pending; i++) {
		size_t size = pending_bytes(kept[i].size);

		memmove(p->bytes + p->n_bytes, p->bytes + kept[i].at, size);
		kept[i].at = p->n_bytes;
		p->n_bytes += size;
	}
	memmove(p->pending, kept, p->n_pending * sizeof(*kept));
	process_events_shrink(p);
}

static int process_events_read(struct process_events *p, uint64_t *ret_until)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC);
	size_t i;
	int r = p->also ? p->also(p->also_userdata, until) : 0;

	if (r < 0)
		return r;

	for (i = 0; i < p->ticker.n_ticks; i++) {
		r = process_events_read_ring(p, &p->ticker.ticks[i].ring, until);
		if (r < 0)
			return r;
	}
	if (p->n_pending) {
		qsort(p->pending, p->n_pending, sizeof(*p->pending), compare_pending);
		for (i = 0; i < p->n_pending && p->pending[i].time_ns <= until; i++)
			process_events_deliver(p, &p->pending[i]);
		process_events_keep(p, i);
	}
	*ret_until = until;
	return 0;
}

int process_events_drain(struct process_events *p, uint64_t *ret_until)
{
	enum cpu_cause before = cpu_causes_switch(p->cpu_causes, CPU_EVENTS);
	int r = process_events_read(p, ret_until);

	cpu_causes_switch(p->cpu_causes, before);
	return r;
}

size_t process_events_bytes(const struct process_events *p)
{
	return p->pending_allocated * sizeof(*p->pending) + p->bytes_allocated + sizeof(*p) +
	       process_events_ring_bytes(p);
}

size_t process_events_ring_bytes(const struct process_events *p)
{
	return ticker_bytes(&p->ticker);
}
