/* SPDX-License-Identifier: MIT */
/* Timers of threads and of the process, by what their clocks say. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/shim/core/threads.h"

#define MS      UINT64_C(1000000)
#define N_FIRST 2000

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

/* What a clock says before and after something: a machine of others may take its time between. */
struct moment {
	uint64_t before, after;
};

/* @n ticks of 1 ms came between the two, in each of which one may be under way. */
static void assert_ticks(uint64_t n, const struct moment *begin, const struct moment *end)
{
	uint64_t least = (end->before - begin->after) / MS;
	uint64_t most = (end->after - begin->before) / MS;

	assert_in_range(n, least > 2 ? least - 2 : 0, most + 2);
}

static void burn(uint64_t ns)
{
	uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

/* Its signals are ignored: none of its ticks has a signal. */
static struct thread *arm(struct threads *threads, const struct threads_timing *timing)
{
	struct thread *thread = threads_claim(threads);

	assert_non_null(thread);
	thread->tid = gettid();
	assert_true(threads_arm(threads, thread, timing));
	return thread;
}

static void test_ticks_without_signals(void **state)
{
	const struct threads_timing timing = {.frequency = 1000, .signal = SIGUSR1};
	struct threads *threads;
	struct thread *thread;
	struct moment begin, end;
	uint64_t n;

	(void)state;
	assert_int_equal(threads_new(&threads), 0);
	begin.before = now_ns(CLOCK_THREAD_CPUTIME_ID);
	thread = arm(threads, &timing);
	begin.after = now_ns(CLOCK_THREAD_CPUTIME_ID);
	burn(50 * MS);
	end.before = now_ns(CLOCK_THREAD_CPUTIME_ID);
	n = threads_missed_ticks(thread);
	end.after = now_ns(CLOCK_THREAD_CPUTIME_ID);
	assert_ticks(n, &begin, &end);
	thread->n_told = n - 10;
	assert_in_range(threads_missed_ticks(thread), 10, 10 + n);
	thread->n_told = 1000000;
	assert_int_equal(threads_missed_ticks(thread), 0);
	threads_disarm(thread);
	threads_release(thread);
	assert_int_equal(threads_missed_ticks(thread), 0);
}

/* However short a thread is: of those that live for a tenth of a period, one in ten is seen. */
static void test_first_period(void **state)
{
	const struct threads_timing timing = {.frequency = 1, .signal = SIGUSR1};
	struct threads *threads;
	unsigned n_short = 0, n_long = 0;

	(void)state;
	assert_int_equal(threads_new(&threads), 0);
	for (int i = 0; i < N_FIRST; i++) {
		uint64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
		struct thread *thread = arm(threads, &timing);
		uint64_t first = thread->first_ns - before;

		assert_in_range(first, 1, 1100 * MS);
		n_short += first < 100 * MS;
		n_long += first > 500 * MS;
		threads_disarm(thread);
		threads_release(thread);
	}
	assert_in_range(n_short, N_FIRST / 10 * 7 / 10, N_FIRST / 10 * 13 / 10);
	assert_in_range(n_long, N_FIRST / 2 * 8 / 10, N_FIRST / 2 * 12 / 10);
}

static void test_itimer(void **state)
{
	struct itimer itimer = {.is_on = false}, other = {.is_on = false};
	struct moment begin, end;
	uint64_t n;

	(void)state;
	begin.before = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_true(itimer_start(&itimer, 1000));
	begin.after = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_false(itimer_start(&other, 1000));
	burn(30 * MS);
	n = itimer_take(&itimer);
	burn(20 * MS);
	end.before = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	n += itimer_take(&itimer);
	end.after = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_ticks(n, &begin, &end);
	itimer_stop(&itimer);
	assert_true(itimer_start(&other, 1000));
	itimer_stop(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_without_signals),
		cmocka_unit_test(test_first_period),
		cmocka_unit_test(test_itimer),
	};

	signal(SIGUSR1, SIG_IGN);
	signal(SIGPROF, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
