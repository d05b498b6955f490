/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "daemon/output/setbacks.h"

#define NOW  UINT64_C(1795251600)
#define HOUR UINT64_C(3600)

static void test_pauses_grow(void **state)
{
	static const uint64_t pauses[] = {600, 1200, 2400, 4800, 9600, 19200, 21600, 21600};
	struct setbacks s = {0};
	uint64_t now = NOW;

	(void)state;
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		assert_int_equal(setbacks_add(&s, "services/a", HOUR, now), 0);
		assert_null(setbacks_due(&s, now + pauses[i] - 1));
		assert_non_null(setbacks_due(&s, now + pauses[i]));
		now += pauses[i];
	}
	assert_int_equal(s.n, 1);
	/* Another time it begins anew. */
	setbacks_remove(&s, "services/a", HOUR);
	assert_null(setbacks_due(&s, now));
	assert_int_equal(setbacks_add(&s, "services/a", HOUR, now), 0);
	assert_non_null(setbacks_due(&s, now + 600));
	setbacks_deinit(&s);
}

static void test_who_is_due_first(void **state)
{
	struct setbacks s = {0};
	const struct setback *due;

	(void)state;
	assert_int_equal(setbacks_add(&s, "services/a", HOUR, NOW + 5), 0);
	assert_int_equal(setbacks_add(&s, "services/b", HOUR, NOW), 0);
	assert_int_equal(setbacks_add(&s, "services/b", 2 * HOUR, NOW + 9), 0);
	due = setbacks_due(&s, NOW + 700);
	assert_string_equal(due->dir, "services/b");
	assert_int_equal(due->hour_s, HOUR);
	setbacks_remove(&s, "services/b", 3 * HOUR); /* none of them */
	setbacks_remove(&s, "services/b", HOUR);
	assert_string_equal(setbacks_due(&s, NOW + 700)->dir, "services/a");
	assert_true(setbacks_has(&s, "services/b", 2 * HOUR));
	assert_false(setbacks_has(&s, "services/b", HOUR));
	assert_false(setbacks_has(&s, "services/a", 2 * HOUR));
	assert_true(setbacks_has_dir(&s, "services/b"));
	assert_false(setbacks_has_dir(&s, "services/c"));
	setbacks_deinit(&s);
}

static void test_the_clock_jumps_back(void **state)
{
	struct setbacks s = {0};

	(void)state;
	assert_int_equal(setbacks_add(&s, "services/a", HOUR, NOW), 0);
	assert_null(setbacks_due(&s, NOW));
	assert_non_null(setbacks_due(&s, NOW - 1));
	assert_non_null(setbacks_due(&s, NOW - 365 * 24 * HOUR));
	setbacks_deinit(&s);
}

static void test_there_is_an_end(void **state)
{
	struct setbacks s = {0};

	(void)state;
	for (unsigned i = 0; i < SETBACKS_MAX + 10; i++)
		assert_int_equal(setbacks_add(&s, "services/a", i * HOUR, NOW + i), 0);
	assert_int_equal(s.n, SETBACKS_MAX);
	assert_false(setbacks_has(&s, "services/a", 9 * HOUR));
	assert_true(setbacks_has(&s, "services/a", 10 * HOUR));
	assert_int_equal(setbacks_due(&s, NOW + 2 * HOUR)->hour_s, 10 * HOUR);
	setbacks_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pauses_grow),
		cmocka_unit_test(test_who_is_due_first),
		cmocka_unit_test(test_the_clock_jumps_back),
		cmocka_unit_test(test_there_is_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
