/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/ingest/ticker.h"

#define PERIOD 1000

static void judge(struct tick *tick, uint64_t runs, uint64_t events, bool exact)
{
	tick->runs = runs;
	tick->period_sum = runs * PERIOD;
	tick->events = events;
	tick_judge(tick, PERIOD, exact);
}

/* The partial period at the end is not due yet. */
static void test_nothing_missing(void **state)
{
	struct tick tick = {0};

	(void)state;
	for (uint64_t n = 0; n < 1000; n++) {
		judge(&tick, n, n * PERIOD, false);
		judge(&tick, n, n * PERIOD + PERIOD - 1, false);
	}
	judge(&tick, 1000, 1000 * PERIOD + PERIOD - 1, true);
	assert_int_equal(tick.skipped, 0);
}

static void test_late_is_not_skipped(void **state)
{
	struct tick tick = {0};

	(void)state;
	judge(&tick, 9, 10 * PERIOD + 1, false); /* the tenth is about to come */
	assert_int_equal(tick.skipped, 0);
	judge(&tick, 10, 10 * PERIOD + 2, false); /* it came */
	assert_int_equal(tick.skipped, 0);
	judge(&tick, 10, 11 * PERIOD + 1, false);
	judge(&tick, 10, 11 * PERIOD + 2, false); /* and the next is still not there */
	assert_int_equal(tick.skipped, 1);
}

static void test_never_falls(void **state)
{
	struct tick tick = {0};

	(void)state;
	judge(&tick, 5, 8 * PERIOD, true);
	assert_int_equal(tick.skipped, 3);
	judge(&tick, 8, 8 * PERIOD, true);
	assert_int_equal(tick.skipped, 3);
	judge(&tick, 8, 0, true); /* a clock that was slewed: more ticks than counted */
	assert_int_equal(tick.skipped, 3);
}

/* Whose the skipped ticks are: in proportion to those that came meanwhile. */
static void test_outside_the_filter(void **state)
{
	static const struct {
		uint64_t runs, idle, excluded, skipped; /* each time as many more */
		uint64_t lost, outside;
	} turns[] = {
		{100, 0, 75, 40, 10, 30}, {100, 90, 10, 20, 10, 50}, /* all others were outside */
		{50, 0, 0, 5, 15, 50},    {0, 0, 0, 7, 19, 53},      /* as 85 of 160 before */
		{10, 0, 12, 6, 19, 59},                              /* of another moment */
	};
	struct tick tick = {0};
	const struct ticker ticker = {.ticks = &tick, .n_ticks = 1};
	uint64_t events = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		struct source_stats stats;

		tick.idle += turns[i].idle;
		tick.excluded += turns[i].excluded;
		events += (turns[i].runs + turns[i].skipped) * PERIOD;
		judge(&tick, tick.runs + turns[i].runs, events, true);
		ticker_get_stats(&ticker, &stats);
		assert_int_equal(stats.lost[LOST_SKIPPED], turns[i].lost);
		assert_int_equal(ticker_skipped_outside(&ticker), turns[i].outside);
		assert_int_equal(turns[i].lost + turns[i].outside, tick.skipped);
	}
}

static void test_no_tick_at_all(void **state)
{
	struct tick tick = {.events = 7 * PERIOD + 5};

	(void)state;
	tick_judge(&tick, PERIOD, true);
	assert_int_equal(tick.skipped, 7);
	tick = (struct tick){.events = 7 * PERIOD};
	tick_judge(&tick, 0, true); /* a frequency: nobody knows the period before the first */
	assert_int_equal(tick.skipped, 0);
}

/* Where the kernel adapts the period, what is missing is measured by the mean of those seen. */
static void test_mean_period(void **state)
{
	struct tick tick = {.runs = 4, .period_sum = 8000, .events = 12500};

	(void)state;
	tick_judge(&tick, 1, true);
	assert_int_equal(tick.skipped, 2);
}

/* The next tick may be of more than a period, or of less. */
static void test_varied_periods(void **state)
{
	struct tick tick = {.ahead = 1700};

	(void)state;
	judge(&tick, 100, 100 * PERIOD + 1699, true);
	assert_int_equal(tick.skipped, 0);
	judge(&tick, 100, 100 * PERIOD + 1700, true);
	assert_int_equal(tick.skipped, 1);
	judge(&tick, 100, 103 * PERIOD + 699, true);
	assert_int_equal(tick.skipped, 2);
	judge(&tick, 100, 103 * PERIOD + 700, true);
	assert_int_equal(tick.skipped, 3);
	tick = (struct tick){.ahead = 600};
	judge(&tick, 100, 100 * PERIOD + 599, true);
	assert_int_equal(tick.skipped, 0);
	judge(&tick, 100, 100 * PERIOD + 600, true);
	assert_int_equal(tick.skipped, 1);
}

/* Rates of one to two times the period's, all as likely. */
static void test_how_periods_vary(void **state)
{
	const uint64_t ms10 = 10000000;
	double sum = 0;

	(void)state;
	assert_int_equal(tick_vary_period(ms10, UINT32_MAX, 0), ms10);
	assert_in_range(tick_vary_period(ms10, UINT32_MAX, UINT32_MAX), ms10 / 2, ms10 / 2 + 1);
	for (unsigned i = 0; i < 1024; i++)
		sum += (double)ms10 / (double)tick_vary_period(ms10, UINT32_MAX, i << 22 | 1 << 21);
	assert_true(sum / 1024 > 1.499 && sum / 1024 < 1.501);
	assert_true(tick_vary_period(UINT64_MAX, UINT32_MAX, UINT32_MAX) >= UINT64_MAX / 2);
	/* The kernel makes less than 10 us of these. */
	assert_int_equal(tick_vary_period(12000, UINT32_MAX, UINT32_MAX), 10000);
	assert_int_equal(tick_vary_period(10000, UINT32_MAX, UINT32_MAX), 10000);
	assert_int_equal(tick_vary_period(9000, UINT32_MAX, UINT32_MAX), 9000);
}

static void test_limit_of_rates(void **state)
{
	const uint64_t hz99 = 1000000000 / 99, hz999 = 1000000000 / 999;

	(void)state;
	assert_int_equal(tick_spread(hz99, 0), UINT32_MAX);
	assert_int_equal(tick_spread(hz99, 100000), UINT32_MAX);
	assert_int_equal(tick_spread(hz999, 1000), 0);
	assert_int_equal(tick_spread(hz999, 500), 0);
	for (uint64_t max_hz = 1142; max_hz < 2300; max_hz += 50) {
		const uint64_t least = tick_vary_period(hz999, tick_spread(hz999, max_hz),
							UINT32_MAX);

		assert_in_range(1000000000 / least, 999, max_hz * 7 / 8 + 1);
	}
}

/* A CPU that slept all the time, whose timer came late every other time. */
static void test_all_idle(void **state)
{
	struct tick tick = {0};

	(void)state;
	for (uint64_t n = 1; n < 1000; n++) {
		tick.idle = n / 2;
		tick.idle_ns = n * PERIOD + 7;
		judge(&tick, n / 2, n * PERIOD, false);
		assert_int_equal(tick.skipped, 0);
	}
	judge(&tick, 499, 999 * PERIOD, true);
	assert_int_equal(tick.skipped, 0);
	assert_int_equal(tick.idle_found, 500);
}

/* What idle time there was is no excuse for more. */
static void test_hardly_idle(void **state)
{
	struct tick tick = {.idle_ns = 10 * PERIOD, .idle = 10};

	(void)state;
	judge(&tick, 1000, 1300 * PERIOD, true);
	assert_int_equal(tick.idle_found, 6); /* twice the standard deviation of ten */
	assert_int_equal(tick.skipped, 294);
	tick = (struct tick){0};
	judge(&tick, 1000, 1300 * PERIOD, true); /* no clock, or never idle */
	assert_int_equal(tick.idle_found, 0);
	assert_int_equal(tick.skipped, 300);
}

static void test_half_idle(void **state)
{
	/* 10,000 were due, half of them idle, of which 2,000 came. */
	struct tick tick = {.idle_ns = 5000 * PERIOD, .idle = 2000};

	(void)state;
	judge(&tick, 7000, 10000 * PERIOD, true);
	assert_int_equal(tick.skipped, 0);
	assert_int_equal(tick.idle_found, 3000);
	/* And 500 busy ones did not come: a hundred of them cannot be told from idle ones. */
	tick = (struct tick){.idle_ns = 5000 * PERIOD, .idle = 2000};
	judge(&tick, 6500, 10000 * PERIOD, true);
	assert_int_equal(tick.skipped, 400);
	assert_int_equal(tick.idle_found, 3100);
}

/* More idle ticks than there was idle time for; more idle time than ticks were due. */
static void test_idle_out_of_proportion(void **state)
{
	struct tick tick = {.idle_ns = 10 * PERIOD, .idle = 90};

	(void)state;
	judge(&tick, 100, 105 * PERIOD, true);
	assert_int_equal(tick.skipped, 5);
	tick = (struct tick){.idle_ns = 4000 * PERIOD, .idle = 10};
	judge(&tick, 50, 100 * PERIOD, true);
	assert_int_equal(tick.skipped, 0);
	assert_int_equal(tick.idle_found, 50);
	tick = (struct tick){.idle_ns = UINT64_MAX, .events = UINT64_MAX};
	tick_judge(&tick, 1, true);
	assert_true(tick.idle_found + tick.skipped == UINT64_MAX);
}

/* Whatever comes, both numbers only grow, and together are what is missing for sure. */
static void test_idle_never_falls(void **state)
{
	uint64_t random = 1, skipped, found, most = 0, before;
	struct tick tick = {0};

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		skipped = tick.skipped;
		found = tick.idle_found;
		before = tick.missing;
		tick.idle += random >> 33 & 3;
		tick.idle_ns += (random >> 36 & 7) * PERIOD;
		judge(&tick, tick.runs + (random >> 40 & 7),
		      tick.events + (random >> 44 & 15) * PERIOD, false);
		assert_true(tick.skipped >= skipped && tick.idle_found >= found);
		before = before < tick.missing ? before : tick.missing;
		most = before > most ? before : most;
		assert_int_equal(tick.skipped + tick.idle_found, most);
	}
	assert_true(tick.skipped > 0 && tick.idle_found > 0);
}

/* Of many events, each is in the middle of a period that is not due. */
static void test_many_partial_periods(void **state)
{
	struct tick tick = {.undue = 10};

	(void)state;
	judge(&tick, 100, 105 * PERIOD, true);
	assert_int_equal(tick.skipped, 0);
	judge(&tick, 100, 112 * PERIOD, true);
	assert_int_equal(tick.skipped, 2);
}

struct varying {
	struct tick tick;
	uint64_t last;
	unsigned n;
};

static int note_period(void *userdata, const struct tick *tick, uint64_t period)
{
	struct varying *v = userdata;

	assert_ptr_equal(tick, &v->tick);
	v->last = period;
	v->n++;
	return 0;
}

/* What is no event keeps its period, and who heard of another one hears so. */
static void test_vary(void **state)
{
	struct varying v = {.tick = {.fd = eventfd(0, EFD_CLOEXEC)}, .last = 1};
	struct ticker t = {.period = 100000000,
			   .ticks = &v.tick,
			   .n_ticks = 1,
			   .vary = note_period,
			   .userdata = &v};
	uint64_t now_ns = 1000000000;

	(void)state;
	for (unsigned i = 0; i < 200; i++, now_ns += 2 * t.period) {
		ticker_vary(&t, now_ns);
		/* Not again as long as there may be no tick in between. */
		t.varied_ns = now_ns;
		const unsigned n = v.n;

		ticker_vary(&t, now_ns + 2 * t.period - 1);
		assert_int_equal(v.n, n);
	}
	/* Half of the times; each is said, and taken back. */
	assert_in_range(v.n, 120, 280);
	assert_int_equal(v.n % 2, 0);
	assert_int_equal(v.last, 0);
	assert_int_equal(v.tick.varied, 0);
	ticker_stop(&t);
	ticker_vary(&t, now_ns + 10 * t.period);
	assert_int_equal(v.n % 2, 0);
	assert_null(t.vary);
	close(v.tick.fd);
}

static bool next_of(const char *text, unsigned *ret_cpu, uint64_t *ret_ns)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	bool r;

	assert_non_null(f);
	r = idle_next(f, ret_cpu, ret_ns);
	fclose(f);
	return r;
}

static void test_idle_lines(void **state)
{
	const uint64_t unit_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned cpu;
	uint64_t ns;

	(void)state;
	assert_true(next_of("cpu  15423 0 3906 302956 930 0 101\ncpu17 1 2 3 4 5 6\n", &cpu, &ns));
	assert_int_equal(cpu, 17);
	assert_int_equal(ns, 9 * unit_ns);
	assert_false(next_of("cpu  15423 0 3906 302956 930 0\nintr 1 2 3 4 5 6\n", &cpu, &ns));
	assert_false(next_of("intr 1\ncpu0 1 2 3 4 5\n", &cpu, &ns));
	assert_false(idle_next(NULL, &cpu, &ns));
}

/* This machine has a CPU, and none that ran for longer than a century. */
static void test_idle_here(void **state)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned n = 0, cpu;
	uint64_t ns;

	(void)state;
	for (; idle_next(f, &cpu, &ns); n++)
		assert_true(ns < UINT64_C(100) * 366 * 86400 * 1000000000);
	assert_true(n > 0);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_missing),
		cmocka_unit_test(test_late_is_not_skipped),
		cmocka_unit_test(test_never_falls),
		cmocka_unit_test(test_outside_the_filter),
		cmocka_unit_test(test_no_tick_at_all),
		cmocka_unit_test(test_mean_period),
		cmocka_unit_test(test_varied_periods),
		cmocka_unit_test(test_how_periods_vary),
		cmocka_unit_test(test_limit_of_rates),
		cmocka_unit_test(test_vary),
		cmocka_unit_test(test_all_idle),
		cmocka_unit_test(test_hardly_idle),
		cmocka_unit_test(test_half_idle),
		cmocka_unit_test(test_idle_never_falls),
		cmocka_unit_test(test_idle_out_of_proportion),
		cmocka_unit_test(test_many_partial_periods),
		cmocka_unit_test(test_idle_lines),
		cmocka_unit_test(test_idle_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
