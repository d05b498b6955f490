/* SPDX-License-Identifier: MIT */
/* Ticks weigh no more than the CPU time that was used, however they are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/ingest/shim_limits.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* The slack at the beginning, in ticks of @tick_ns. */
static uint64_t slack(uint64_t tick_ns)
{
	struct shim_account a;

	shim_account_begin(&a, 5 * S);
	return shim_account_take(&a, UINT64_MAX, tick_ns);
}

static void test_honest(void **state)
{
	struct shim_account a;

	(void)state;
	/* 100 Hz for a minute, looked at ten times a second; each tick a period late. */
	shim_account_begin(&a, 0);
	for (uint64_t i = 1; i <= 600; i++) {
		shim_account_look(&a, i * 100 * MS, 10 * MS);
		assert_int_equal(shim_account_take(&a, 10, 10 * MS), 10);
	}
	/* What was not there for a while comes at once. */
	shim_account_look(&a, 80 * S, 10 * MS);
	assert_int_equal(shim_account_take(&a, 2000, 10 * MS), 2000);
}

static void test_more_than_it_ran(void **state)
{
	uint64_t sum = 0, ran = 0;
	struct shim_account a;

	(void)state;
	assert_true(slack(MS) <= 100);
	shim_account_begin(&a, 7 * S);
	for (int i = 0; i < 1000; i++) {
		ran += (uint64_t)rand() % (50 * MS);
		shim_account_look(&a, 7 * S + ran, MS);
		sum += MS * shim_account_take(&a, rand() % 2 ? UINT64_MAX : 1u << 20, MS);
	}
	assert_true(sum <= ran + ran / 8 + 100 * MS);
	assert_true(sum >= ran);
	/* Nothing at all is believed of one that sleeps. */
	shim_account_look(&a, 7 * S + ran, MS);
	assert_int_equal(shim_account_take(&a, 1, MS), 0);
}

/* Ten days that nobody sampled are not to be told in one go. */
static void test_what_is_kept(void **state)
{
	struct shim_account a;
	uint64_t n;

	(void)state;
	shim_account_begin(&a, 0);
	shim_account_look(&a, 864000 * S, 10 * MS);
	shim_account_look(&a, 864000 * S, 10 * MS);
	n = shim_account_take(&a, UINT64_MAX, 10 * MS);
	assert_in_range(n, 1000, 5000);
	/* A clock that goes back gives nothing, and takes nothing. */
	shim_account_look(&a, 10, 10 * MS);
	assert_int_equal(shim_account_take(&a, 1, 10 * MS), 0);
	shim_account_look(&a, 864001 * S, 10 * MS);
	assert_in_range(shim_account_take(&a, UINT64_MAX, 10 * MS), 100, 113);
}

static void test_periods(void **state)
{
	uint64_t rest = 0, n = 0;

	(void)state;
	for (int i = 0; i < 999; i++)
		n += shim_account_periods(&rest, S / 999, S / 99);
	assert_in_range(n, 98, 99);
	rest = 0;
	assert_int_equal(shim_account_periods(&rest, 35 * MS, 10 * MS), 3);
	assert_int_equal(rest, 5 * MS);
	assert_int_equal(shim_account_periods(&rest, 5 * MS, 10 * MS), 1);
	assert_int_equal(rest, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_honest),
		cmocka_unit_test(test_more_than_it_ran),
		cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_periods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
