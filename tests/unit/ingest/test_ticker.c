/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_missing), cmocka_unit_test(test_late_is_not_skipped),
		cmocka_unit_test(test_never_falls),     cmocka_unit_test(test_no_tick_at_all),
		cmocka_unit_test(test_mean_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
