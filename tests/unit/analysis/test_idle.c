/* SPDX-License-Identifier: MIT */
/* Threads that only wait for work, and those that look like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/idle.h"
#include "tests/unit/analysis/waits_fixture.h"

#define LOOP "k:ep_poll;epoll_wait;serve;main"
#define COND "k:futex_do_wait;pthread_cond_wait;queue_pop;worker"

/* What a profile of @n samples hides: a bit for each. */
static uint64_t hidden_of(struct profile *p, const struct waiting *all, size_t n,
			  struct idle_sum *ret)
{
	struct idle *idle;
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++)
		waits_add(p, &all[i]);
	assert_int_equal(idle_new(&idle), 0);
	assert_int_equal(idle_learn(idle, p), 0);
	idle_decide(idle);
	for (size_t i = 0; i < n; i++)
		bits |= (uint64_t)idle_is(idle, p, i) << i;
	if (ret)
		*ret = idle_sum(idle);
	idle_free(idle);
	profile_free(p);
	return bits;
}

static uint64_t hidden(const struct waiting *all, size_t n)
{
	return hidden_of(waits_profile(), all, n, NULL);
}

#define HIDDEN(...)                                   \
	hidden((const struct waiting[]){__VA_ARGS__}, \
	       sizeof((const struct waiting[]){__VA_ARGS__}) / sizeof(struct waiting))

/* A thread that there is something to see of. */
#define BUSY                                                                     \
	{                                                                        \
		"k:pipe_read;read;get;main", 0, 5, "busy", "sleep", "read", 1, 9 \
	}

static void test_loop(void **state)
{
	struct idle_sum sum;
	const struct waiting all[] = {
		BUSY,
		{LOOP, 0, 10, "loop", "sleep", "epoll_wait", 1, 2},
		{LOOP, 0, 20, "loop", "sleep", "epoll_wait", 1, 2},
		/* It waited for a CPU: that is no idling. */
		{LOOP, 0, 3, "loop", "runnable", NULL, 1, 2},
		{COND, 0, 40, "pool", "sleep", "futex", 1, 3},
	};

	(void)state;
	assert_int_equal(hidden_of(waits_profile(), all, 5, &sum), 1 << 1 | 1 << 2 | 1 << 4);
	assert_int_equal(sum.ns, 70);
	assert_int_equal(sum.n_threads, 2);
	assert_false(sum.is_at_least);
}

static void test_not_idle(void **state)
{
	(void)state;
	/* It has run. */
	assert_int_equal(HIDDEN(BUSY, {LOOP, 0, 10, "a", "sleep", "epoll_wait", 1, 2},
				{"work;serve;main", 1, 0, "a", NULL, NULL, 1, 2}),
			 0);
	/* It waits at two places. */
	assert_int_equal(HIDDEN(BUSY, {LOOP, 0, 10, "a", "sleep", "epoll_wait", 1, 2},
				{"k:ep_poll;epoll_wait;flush;main", 0, 1, "a", "sleep",
				 "epoll_wait", 1, 2}),
			 0);
	/* For a CPU at another one: it has run there. */
	assert_int_equal(HIDDEN(BUSY, {LOOP, 0, 10, "a", "sleep", "epoll_wait", 1, 2},
				{"work;serve;main", 0, 1, "a", "runnable", NULL, 1, 2}),
			 0);
	/* A lock, a disk, a pipe, a child, a sleep: somebody waits for these. */
	assert_int_equal(HIDDEN(BUSY,
				{"k:futex_do_wait;__lll_lock_wait;pthread_mutex_lock;put", 0, 10,
				 "a", "sleep", "futex", 1, 2},
				{"k:io_schedule;pread64;load", 0, 10, "b", "disk", "pread64", 1, 3},
				{"k:pipe_read;read;get", 0, 10, "c", "sleep", "read", 1, 4},
				{"k:do_wait;wait4;make", 0, 10, "d", "sleep", "wait4", 1, 5},
				{"k:hrtimer;nanosleep;retry", 0, 10, "e", "sleep",
				 "clock_nanosleep", 1, 6},
				{LOOP, 0, 10, "f", "stopped", "epoll_wait", 1, 7},
				{"k:futex_do_wait;pthread_cond_timedwait;take_gil;run", 0, 10, "g",
				 "sleep", "futex", 1, 8}),
			 0);
	/* Not known which thread it is. */
	assert_int_equal(HIDDEN(BUSY, {LOOP, 0, 10, NULL, "sleep", "epoll_wait", 0, 0}), 0);
}

/* Threads that the labels do not tell apart are idle together. */
static void test_labels(void **state)
{
	struct idle_sum sum;
	const struct waiting all[] = {
		BUSY,
		{COND, 0, 10, "pool", "sleep", "futex", 1, 0},
		{COND, 0, 10, "pool", "sleep", "futex", 2, 0},
		{"work;worker", 7, 0, "pool", NULL, NULL, 2, 0},
		{COND, 0, 10, NULL, "sleep", "futex", 3, 0},
	};

	(void)state;
	assert_int_equal(hidden_of(waits_profile(), all, 5, &sum), 1 << 1 | 1 << 4);
	assert_int_equal(sum.n_threads, 2);
	assert_true(sum.is_at_least);
}

/* A stack that could not be walked to its end is the same place, as far as it goes. */
static void test_places(void **state)
{
	(void)state;
	assert_int_equal(
		HIDDEN(BUSY, {"epoll_wait;serve", 0, 10, "a", "sleep", "epoll_wait", 1, 2},
		       {"k:ep_poll;epoll_wait;serve;main", 0, 10, "a", "sleep", "epoll_wait", 1, 2},
		       {"epoll_wait;1;2;3;4;5;6;7;8;main", 0, 10, "b", "sleep", "epoll_wait", 1, 3},
		       {"epoll_wait;1;2;3;4;5;6;7;9;main", 0, 10, "b", "sleep", "epoll_wait", 1, 3},
		       /* Kernel frames alone tell no place. */
		       {"k:ep_poll", 0, 10, "c", "sleep", "epoll_wait", 1, 4},
		       {"k:ep_poll", 0, 10, "c", "sleep", "epoll_wait", 1, 4}),
		1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
}

static void test_go(void **state)
{
	struct idle_sum sum;
	const struct waiting all[] = {
		BUSY,
		{"runtime.futex;runtime.notesleep;runtime.stopm;runtime.findRunnable;"
		 "runtime.schedule",
		 0, 50, "app", "sleep", "futex", 4, 0},
		{"runtime.epollwait;runtime.netpoll;runtime.findRunnable;runtime.schedule", 0, 30,
		 "app", "sleep", "epoll_pwait", 4, 0},
		{"main.work", 9, 0, "app", NULL, NULL, 4, 0},
		{"syscall.Syscall;os.(*File).Read;main.load", 0, 5, "app", "sleep", "read", 4, 0},
		{"runtime.futex;runtime.stopm;runtime.schedule", 0, 1, "app", "runnable", NULL, 4,
		 0},
	};

	(void)state;
	assert_int_equal(hidden_of(waits_profile(), all, 6, &sum), 1 << 1 | 1 << 2);
	assert_int_equal(sum.ns, 80);
	assert_int_equal(sum.n_threads, 1);
}

/* Better than a report of nothing. */
static void test_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(HIDDEN({LOOP, 0, 10, "a", "sleep", "epoll_wait", 1, 2},
				{"start;main", 4, 0, "b", NULL, NULL, 1, 3},
				{LOOP, 0, 1, "a", "runnable", NULL, 1, 2}),
			 0);
	assert_int_equal(HIDDEN({"start;main", 4, 0, "b", NULL, NULL, 1, 3}), 0);
}

/* Of waiting time alone it is not known who has run. */
static void test_off_alone(void **state)
{
	static const char *const types[] = {"samples", "off_cpu", NULL};
	const struct waiting all[] = {
		BUSY,
		{LOOP, 0, 10, "loop", "sleep", "epoll_wait", 1, 2},
	};

	(void)state;
	assert_int_equal(hidden_of(waits_profile_of(types), all, 2, NULL), 1 << 1);
}

static void test_note(void **state)
{
	static const struct waiting all[] = {
		BUSY,
		{LOOP, 0, 12000000000, "loop", "sleep", "epoll_wait", 1, 2},
	};
	struct profile *p = waits_profile();
	char note[IDLE_NOTE_MAX];
	struct idle *idle;

	(void)state;
	waits_add(p, &all[0]);
	waits_add(p, &all[1]);
	assert_true(idle_may_be(p));
	assert_int_equal(idle_new(&idle), 0);
	assert_int_equal(idle_learn(idle, p), 0);
	assert_string_equal(idle_note(idle, note), "");
	idle_decide(idle);
	assert_string_equal(idle_note(idle, note),
			    "Idle: 12s of 1 thread hidden; --idle shows them");
	idle_free(idle);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop),      cmocka_unit_test(test_not_idle),
		cmocka_unit_test(test_labels),    cmocka_unit_test(test_places),
		cmocka_unit_test(test_go),        cmocka_unit_test(test_nothing_else),
		cmocka_unit_test(test_off_alone), cmocka_unit_test(test_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
