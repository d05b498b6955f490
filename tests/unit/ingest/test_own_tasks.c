/* SPDX-License-Identifier: MIT */
/*
 * Which threads have events, told by records and by a made-up /proc. No event is opened: there is
 * no ring for any, so that attachments have nothing but their heirs.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/ingest/members.h"
#include "daemon/ingest/own_tasks.h"
#include "tests/support/temp_dir.h"

#define SAMPLER 3
#define SECOND  UINT64_C(1000000000)
#define FOREVER UINT64_MAX

struct world {
	struct temp_dir proc;
	struct members self;
	struct source_sink sink;
	struct own_tasks *tasks;
	uint64_t now;
	unsigned n_ended, n_lost;
	pid_t ended; /* the last one */
};

static int no_ring(void *userdata, unsigned kind, unsigned cpu)
{
	(void)userdata, (void)kind, (void)cpu;
	return -1;
}

static void tell(void *userdata, const struct process_event *event)
{
	struct world *w = userdata;

	w->n_lost += event->kind == PROCESS_EVENT_LOST;
	if (event->kind == PROCESS_EVENT_EXIT) {
		w->n_ended++;
		w->ended = event->pid;
	}
}

static void thread(struct world *w, pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/task/%d/comm", pid, tid);
	write_text(w->proc.fd, path, "x\n");
}

static void process(struct world *w, pid_t pid, pid_t parent)
{
	char path[64], text[96];

	snprintf(path, sizeof(path), "%d/stat", pid);
	snprintf(text, sizeof(text), "%d (a ) b) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1", pid,
		 parent);
	write_text(w->proc.fd, path, text);
	thread(w, pid, pid);
}

static void gone(struct world *w, pid_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%d", w->proc.path, pid);
	assert_int_equal(nftw(path, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void begin(struct world *w, unsigned max_events)
{
	const struct own_tasks_options options = {
		.proc_fd = w->proc.fd,
		.uid = getuid(),
		.self = &w->self,
		.max_events = max_events,
		.ring = no_ring,
		.sink = &w->sink,
		.userdata = w,
	};
	const struct perf_event_attr attr = {.size = sizeof(attr)};
	struct cpus cpus;

	assert_int_equal(cpus_parse((const uint8_t *)"0-1", 3, &cpus), CPUS_E_OK);
	assert_int_equal(own_tasks_new(&w->tasks, &options), 0);
	assert_int_equal(own_tasks_follow(w->tasks, &cpus), 0);
	assert_int_equal(own_tasks_add_kind(w->tasks, OWN_TASKS_RECORDS, &attr), 0);
	assert_int_equal(own_tasks_add_kind(w->tasks, SAMPLER, &attr), 0);
}

static void look(struct world *w)
{
	w->now += 20 * SECOND;
	assert_int_equal(own_tasks_look(w->tasks, w->now), 0);
}

static unsigned alive(struct world *w)
{
	unsigned n = own_tasks_alive(w->tasks, SAMPLER);

	assert_int_equal(own_tasks_alive(w->tasks, OWN_TASKS_RECORDS), n);
	return n;
}

static void apply(struct world *w, enum process_event_kind kind, pid_t pid, pid_t tid, pid_t by)
{
	/* A thread's number is its process's, here. */
	const struct process_event event = {.kind = kind,
					    .time_ns = FOREVER,
					    .pid = pid,
					    .tid = tid,
					    .parent = by,
					    .parent_tid = by};

	assert_int_equal(own_tasks_apply(w->tasks, &event), 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->sink = (struct source_sink){.process_event = tell, .userdata = w};
	temp_dir_make(&w->proc);
	w->now = SECOND;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	own_tasks_free(w->tasks);
	members_deinit(&w->self);
	temp_dir_remove(&w->proc);
	free(w);
	return 0;
}

/* What was there at the beginning is known at once, with all its threads. */
static void test_first_look(void **state)
{
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	thread(w, 10, 11);
	process(w, 20, 1);
	look(w);
	assert_int_equal(alive(w), 3);
	look(w);
	look(w);
	assert_int_equal(alive(w), 3);
	assert_int_equal(w->n_lost, 0);
}

/* Whatever a thread gives birth to, thread or process, is there by its record, and once. */
static void test_births(void **state)
{
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	look(w);
	apply(w, PROCESS_EVENT_FORK, 10, 12, 10);
	apply(w, PROCESS_EVENT_FORK, 30, 30, 10);
	apply(w, PROCESS_EVENT_FORK, 31, 31, 30);
	assert_int_equal(alive(w), 4);
	thread(w, 10, 12);
	process(w, 30, 10);
	process(w, 31, 30);
	for (int i = 0; i < 4; i++)
		look(w);
	assert_int_equal(alive(w), 4);
	assert_int_equal(w->n_lost, 0);
	apply(w, PROCESS_EVENT_FORK, 40, 40, 99); /* nobody that we know */
	assert_int_equal(alive(w), 4);
}

/* An event that its thread leaves behind goes on for its heirs, and not for longer. */
static void test_heirs(void **state)
{
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	look(w);
	apply(w, PROCESS_EVENT_FORK, 30, 30, 10);
	apply(w, PROCESS_EVENT_EXIT, 10, 10, 0);
	assert_int_equal(alive(w), 1);
	apply(w, PROCESS_EVENT_FORK, 31, 31, 30);
	apply(w, PROCESS_EVENT_EXIT, 30, 30, 0);
	apply(w, PROCESS_EVENT_EXIT, 30, 30, 0);
	assert_int_equal(alive(w), 1);
	apply(w, PROCESS_EVENT_EXIT, 31, 31, 0);
	assert_int_equal(alive(w), 0);
}

/* One that comes from elsewhere is given time for a record, and told of when it has its events. */
static void test_found_later(void **state)
{
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	look(w);
	process(w, 50, 1);
	process(w, 60, 10);
	look(w);
	assert_int_equal(alive(w), 1);
	apply(w, PROCESS_EVENT_FORK, 60, 60, 10);
	assert_int_equal(alive(w), 2);
	thread(w, 50, 51); /* born before 50 had events */
	look(w);
	assert_int_equal(alive(w), 3);
	assert_int_equal(w->n_lost, 1);
	look(w);
	assert_int_equal(alive(w), 4);
	assert_int_equal(w->n_lost, 1);
}

/* Who was born while events were opened has a part of them, or nobody knows: it gets its own. */
static void test_born_meanwhile(void **state)
{
	struct process_event event = {.kind = PROCESS_EVENT_FORK,
				      .time_ns = 1,
				      .pid = 30,
				      .tid = 30,
				      .parent = 10,
				      .parent_tid = 10};
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	look(w);
	assert_int_equal(own_tasks_apply(w->tasks, &event), 0);
	assert_int_equal(alive(w), 1);
	process(w, 30, 10);
	look(w);
	assert_int_equal(alive(w), 2);
	/* Apart from 10's. */
	assert_false(own_tasks_counts(w->tasks, SAMPLER, 30, 77));
}

static void test_which_sample_counts(void **state)
{
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	look(w);
	assert_true(own_tasks_counts(w->tasks, SAMPLER, 99, 77)); /* nobody knows better */
	assert_false(own_tasks_counts(w->tasks, SAMPLER, 10, 77));
	apply(w, PROCESS_EVENT_EXIT, 10, 10, 0);
	assert_true(own_tasks_counts(w->tasks, SAMPLER, 10, 77));
}

/* Samples of a later sampler are of the threads that there are by then. */
static void test_another_kind(void **state)
{
	const struct perf_event_attr attr = {.size = sizeof(attr)};
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	look(w);
	apply(w, PROCESS_EVENT_FORK, 30, 30, 10);
	assert_int_equal(own_tasks_add_kind(w->tasks, 5, &attr), 0);
	assert_int_equal(own_tasks_alive(w->tasks, 5), 2);
	apply(w, PROCESS_EVENT_FORK, 31, 31, 30);
	assert_int_equal(own_tasks_alive(w->tasks, 5), 3);
	own_tasks_remove_kind(w->tasks, SAMPLER);
	assert_int_equal(own_tasks_alive(w->tasks, SAMPLER), 0);
	assert_int_equal(own_tasks_alive(w->tasks, 5), 3);
	apply(w, PROCESS_EVENT_EXIT, 10, 10, 0);
	assert_int_equal(own_tasks_alive(w->tasks, 5), 2);
}

/* A thread that calls execve(2) becomes the first one, which was told to have ended. */
static void test_exec_by_another_thread(void **state)
{
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	thread(w, 10, 11);
	look(w);
	apply(w, PROCESS_EVENT_EXIT, 10, 10, 0);
	apply(w, PROCESS_EVENT_EXEC, 10, 10, 0);
	assert_int_equal(alive(w), 1);
	apply(w, PROCESS_EVENT_FORK, 30, 30, 10);
	assert_int_equal(alive(w), 2);
	apply(w, PROCESS_EVENT_EXIT, 10, 10, 0);
	assert_int_equal(alive(w), 1);
}

/* A pid that is given out again belongs to another process. */
static void test_pid_again(void **state)
{
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	process(w, 20, 1);
	look(w);
	apply(w, PROCESS_EVENT_EXIT, 20, 20, 0);
	look(w);
	look(w);
	assert_int_equal(alive(w), 2);
	apply(w, PROCESS_EVENT_FORK, 20, 20, 10); /* its end was not told */
	assert_int_equal(alive(w), 2);
}

static void test_gone_unannounced(void **state)
{
	struct world *w = *state;

	begin(w, 0);
	process(w, 10, 1);
	look(w);
	look(w);
	assert_int_equal(alive(w), 0);
	assert_int_equal(own_tasks_unattached(w->tasks), 1); /* once */
	gone(w, 10);
	look(w);
	assert_int_equal(w->n_ended, 1);
	assert_int_equal(w->ended, 10);
}

static void test_self_is_left_out(void **state)
{
	struct world *w = *state;

	process(w, 10, 1);
	process(w, 20, 10);
	process(w, 30, 2);
	assert_int_equal(own_processes_add(&w->self, w->proc.fd, 10), 0);
	begin(w, 100);
	look(w);
	assert_int_equal(alive(w), 1);
	assert_true(members_has(&w->self, OWN_SAMPLER, 20)); /* though nobody told */
	assert_false(members_has(&w->self, OWN_SAMPLER, 30));
}

static void test_others_are_left_out(void **state)
{
	struct world *w = *state;
	struct own_tasks_options options = {.proc_fd = w->proc.fd,
					    .uid = getuid() + 1,
					    .max_events = 9,
					    .ring = no_ring,
					    .sink = &w->sink,
					    .userdata = w};
	const struct perf_event_attr attr = {.size = sizeof(attr)};

	assert_int_equal(own_tasks_new(&w->tasks, &options), 0);
	assert_int_equal(own_tasks_add_kind(w->tasks, OWN_TASKS_RECORDS, &attr), 0);
	process(w, 10, 1);
	look(w);
	assert_int_equal(own_tasks_alive(w->tasks, OWN_TASKS_RECORDS), 0);
}

/* After lost records nobody knows who has which events: all begins anew, but not all the time. */
static void test_lost_records(void **state)
{
	struct world *w = *state;

	begin(w, 100);
	process(w, 10, 1);
	process(w, 20, 1);
	look(w);
	apply(w, PROCESS_EVENT_FORK, 30, 30, 10);
	gone(w, 20);
	apply(w, PROCESS_EVENT_LOST, 0, 0, 0);
	assert_int_equal(alive(w), 3);
	look(w);
	assert_int_equal(alive(w), 1);
	apply(w, PROCESS_EVENT_LOST, 0, 0, 0);
	process(w, 40, 1);
	assert_int_equal(own_tasks_look(w->tasks, w->now + SECOND), 0);
	assert_int_equal(alive(w), 1);
	look(w);
	assert_int_equal(alive(w), 2);
}

static void test_other_cpus(void **state)
{
	struct world *w = *state;
	struct cpus cpus;

	begin(w, 100);
	process(w, 10, 1);
	look(w);
	assert_int_equal(cpus_parse((const uint8_t *)"1-2", 3, &cpus), CPUS_E_OK);
	assert_int_equal(own_tasks_follow(w->tasks, &cpus), 0);
	assert_int_equal(alive(w), 0);
	look(w);
	assert_int_equal(alive(w), 1);
	assert_int_equal(own_tasks_follow(w->tasks, &cpus), 0);
	assert_int_equal(alive(w), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_first_look),
		TEST(test_births),
		TEST(test_heirs),
		TEST(test_found_later),
		TEST(test_born_meanwhile),
		TEST(test_which_sample_counts),
		TEST(test_another_kind),
		TEST(test_exec_by_another_thread),
		TEST(test_pid_again),
		TEST(test_gone_unannounced),
		TEST(test_self_is_left_out),
		TEST(test_others_are_left_out),
		TEST(test_lost_records),
		TEST(test_other_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
