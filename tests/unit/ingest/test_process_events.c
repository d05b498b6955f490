/* SPDX-License-Identifier: MIT */
/*
 * What becomes of records that are younger than the drain that reads them: they are kept, and come
 * in their turn. Two rings in ordinary memory instead of the kernel's, so a ticker of our own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "daemon/ingest/process_events.h"
#include "daemon/ingest/ticker.h"

#define N_RINGS    2
#define DATA_BYTES (1 << 20)
#define N_MANY     8000 /* many times what is kept */
#define KEPT_BYTES (64 * 1024)
/* What it costs to have noted a record, at most: such arrays grow by a half. */
#define NOTE_BYTES 64

struct world {
	struct source source;
	struct source_sink sink;
	struct process_events *events;
	struct perf_event_mmap_page pages[N_RINGS];
	uint8_t *data[N_RINGS];
	struct tick ticks[N_RINGS];
	/* What also() puts there, after a drain has noted its time: so much later than that. */
	void (*late)(struct world *w);
	uint64_t late_ns;
	struct process_event *got;
	size_t n_got;
};

/* The only one; the ticker's functions have no argument of ours. */
static struct world *the_world;

void ticker_init(struct ticker *t, const struct perf_event_attr *attr, size_t ring_bytes,
		 int (*attach)(void *userdata, struct tick *tick), void *userdata)
{
	*t = (struct ticker){.attr = *attr,
			     .ring_bytes = ring_bytes,
			     .attach = attach,
			     .userdata = userdata,
			     .ticks = the_world->ticks,
			     .n_ticks = N_RINGS};
}

void ticker_deinit(struct ticker *t)
{
	(void)t;
}

int ticker_follow(struct ticker *t, const struct cpus *cpus)
{
	(void)t, (void)cpus;
	return 0;
}

int ticker_fd(const struct ticker *t, unsigned cpu)
{
	(void)t, (void)cpu;
	return -1;
}

bool ticker_differs(const struct ticker *t, const struct cpus *cpus)
{
	(void)t, (void)cpus;
	return false;
}

size_t ticker_bytes(const struct ticker *t)
{
	(void)t;
	return 0;
}

int tick_watch(void *epoll_fd, struct tick *tick)
{
	(void)epoll_fd, (void)tick;
	return 0;
}

static void produce_bytes(struct world *w, unsigned ring, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		w->data[ring][(w->pages[ring].data_head + i) % DATA_BYTES] =
			((const uint8_t *)bytes)[i];
	w->pages[ring].data_head += length;
}

/* perf_event_open(2), PERF_RECORD_COMM with a struct sample_id. */
static void produce_comm(struct world *w, unsigned ring, uint64_t time_ns, uint32_t pid)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char comm[16];
		uint32_t id_pid, id_tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} record = {.header = {.type = PERF_RECORD_COMM, .size = sizeof(record)},
		    .pid = pid,
		    .tid = pid,
		    .id_pid = pid,
		    .id_tid = pid,
		    .time = time_ns};

	snprintf(record.comm, sizeof(record.comm), "c%u", pid);
	produce_bytes(w, ring, &record, sizeof(record));
}

/* PERF_RECORD_FORK or _EXIT, in the same way. */
static void produce_task(struct world *w, unsigned ring, uint32_t type, uint64_t time_ns,
			 uint32_t pid)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t at;
		uint32_t id_pid, id_tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} record = {.header = {.type = type, .size = sizeof(record)},
		    .pid = pid,
		    .ppid = 1,
		    .tid = pid,
		    .id_pid = pid,
		    .id_tid = pid,
		    .time = time_ns};

	produce_bytes(w, ring, &record, sizeof(record));
}

static void take_event(void *userdata, const struct process_event *event)
{
	struct world *w = userdata;

	w->got = realloc(w->got, (w->n_got + 1) * sizeof(*w->got));
	assert_non_null(w->got);
	w->got[w->n_got++] = *event;
}

static int read_late(void *userdata, uint64_t until)
{
	struct world *w = userdata;

	if (w->late) {
		w->late_ns = until + 1;
		w->late(w);
	}
	w->late = NULL;
	return 0;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct source_message message;

	if (!w)
		return -1;
	the_world = w;
	for (unsigned i = 0; i < N_RINGS; i++) {
		w->data[i] = malloc(DATA_BYTES);
		w->ticks[i] = (struct tick){.cpu = i,
					    .fd = -1,
					    .link = -1,
					    .ring = {.page = &w->pages[i],
						     .data = w->data[i],
						     .data_bytes = DATA_BYTES}};
	}
	w->sink = (struct source_sink){.process_event = take_event, .userdata = w};
	w->source.fd = -1;
	assert_int_equal(process_events_new(&w->events, &w->source, &w->sink, false, &message), 0);
	process_events_also(w->events, read_late, w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	process_events_free(w->events);
	for (unsigned i = 0; i < N_RINGS; i++)
		free(w->data[i]);
	free(w->got);
	free(w);
	return 0;
}

static void expect_comm(const struct world *w, size_t i, uint32_t pid)
{
	char comm[16];

	snprintf(comm, sizeof(comm), "c%u", pid);
	assert_true(i < w->n_got);
	assert_int_equal(w->got[i].kind, PROCESS_EVENT_COMM);
	assert_int_equal(w->got[i].pid, pid);
	assert_string_equal(w->got[i].comm, comm);
}

static void drain(struct world *w)
{
	uint64_t until;

	assert_int_equal(process_events_drain(w->events, &until), 0);
	for (size_t i = 0; i < w->n_got; i++)
		assert_true(w->got[i].time_ns <= until);
}

static void drain_when_due(struct world *w, uint64_t time_ns)
{
	while (clock_ns(CLOCK_MONOTONIC) < time_ns)
		;
	drain(w);
}

/* In the order of their times, whatever ring they are in; equal ones as they were read. */
static void test_merged(void **state)
{
	struct world *w = *state;

	produce_comm(w, 0, 30, 3);
	produce_comm(w, 0, 40, 4);
	produce_comm(w, 0, 40, 5);
	produce_comm(w, 1, 10, 1);
	produce_comm(w, 1, 20, 2);
	produce_comm(w, 1, 40, 6);
	drain(w);
	assert_int_equal(w->n_got, 6);
	for (unsigned i = 0; i < 6; i++)
		expect_comm(w, i, i + 1);
	drain(w);
	assert_int_equal(w->n_got, 6);
}

static void put_late(struct world *w)
{
	const struct process_event begun = process_event_of(PROCESS_EVENT_BEGUN, 9, w->late_ns + 1);

	produce_comm(w, 0, w->late_ns, 7);
	produce_comm(w, 0, w->late_ns + 2, 10); /* read by the next drain */
	assert_int_equal(process_events_add(w->events, &begun), 0);
	produce_comm(w, 1, 50, 1);
	produce_comm(w, 1, w->late_ns, 8);
}

/* Kept whole, records and events that were added, and before what the next drain finds. */
static void test_late_ones_are_kept(void **state)
{
	struct world *w = *state;

	produce_comm(w, 0, 60, 2);
	w->late = put_late;
	drain(w);
	assert_int_equal(w->n_got, 2);
	expect_comm(w, 0, 1);
	expect_comm(w, 1, 2);
	assert_true(w->pages[0].data_tail < w->pages[0].data_head);
	produce_comm(w, 1, w->late_ns + 3, 11);
	produce_comm(w, 1, w->late_ns, 12); /* as old as two that are kept, and read later */
	drain_when_due(w, w->late_ns + 3);
	assert_int_equal(w->n_got, 8);
	expect_comm(w, 2, 7);
	expect_comm(w, 3, 8);
	expect_comm(w, 4, 12);
	assert_int_equal(w->got[5].kind, PROCESS_EVENT_BEGUN);
	assert_int_equal(w->got[5].pid, 9);
	expect_comm(w, 6, 10);
	expect_comm(w, 7, 11);
}

static void put_one_late(struct world *w)
{
	produce_comm(w, 0, w->late_ns, N_MANY);
}

/* The memory for a burst goes with the burst, also when something is kept. */
static void test_bursts_are_given_back(void **state)
{
	struct world *w = *state;
	size_t least;

	produce_comm(w, 0, 1, 1);
	drain(w);
	least = process_events_bytes(w->events);
	for (uint32_t i = 1; i < N_MANY; i++)
		produce_comm(w, i % N_RINGS, i, i);
	w->late = put_one_late;
	drain(w);
	assert_int_equal(w->n_got, N_MANY);
	assert_true(process_events_bytes(w->events) < least + KEPT_BYTES + N_MANY * NOTE_BYTES);
	drain_when_due(w, w->late_ns);
	expect_comm(w, 0, 1);
	for (uint32_t i = 1; i <= N_MANY; i++)
		expect_comm(w, i, i);
}

/* What is not understood is lost, and nothing after it. */
static void test_malformed(void **state)
{
	const struct perf_event_header alone = {.type = PERF_RECORD_COMM, .size = sizeof(alone)};
	struct world *w = *state;

	produce_bytes(w, 0, &alone, sizeof(alone));
	produce_comm(w, 0, 70, 1);
	drain(w);
	assert_int_equal(w->n_got, 2);
	assert_int_equal(w->got[0].kind, PROCESS_EVENT_LOST);
	assert_int_equal(w->got[0].lost, 1);
	expect_comm(w, 1, 1);
}

/* Ends come from where lives are read, if they are. */
static void test_ends_come_once(void **state)
{
	struct world *w = *state;

	produce_task(w, 0, PERF_RECORD_FORK, 10, 5);
	produce_task(w, 0, PERF_RECORD_EXIT, 20, 5);
	produce_comm(w, 0, 30, 6);
	drain(w);
	assert_int_equal(w->n_got, 2);
	assert_int_equal(w->got[0].kind, PROCESS_EVENT_FORK);
	expect_comm(w, 1, 6);
	process_events_also(w->events, NULL, NULL);
	produce_task(w, 0, PERF_RECORD_EXIT, 40, 6);
	drain(w);
	assert_int_equal(w->n_got, 3);
	assert_int_equal(w->got[2].kind, PROCESS_EVENT_EXIT);
	assert_int_equal(w->got[2].pid, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_merged),    T(test_late_ones_are_kept), T(test_bursts_are_given_back),
		T(test_malformed), T(test_ends_come_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
