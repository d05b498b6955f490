/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/output/steady.h"

#define NS     UINT64_C(1000000000)
#define MINUTE (60 * NS)
#define HOUR   (60 * MINUTE)
#define WALL   (UINT64_C(1795251600) * NS)
#define BOOT   (UINT64_C(5000) * NS)

static void go_on(struct steady *s, uint64_t *wall, uint64_t *boot, uint64_t ns)
{
	for (uint64_t i = 0; i < ns; i += MINUTE)
		steady_follow(s, *wall += MINUTE, *boot += MINUTE);
}

/* Slewed by 500 ppm, the most that the kernel does. */
static void test_slewing_is_no_jump(void **state)
{
	uint64_t wall = WALL, boot = BOOT;
	struct steady s;

	(void)state;
	steady_begin(&s, wall, boot, wall / NS);
	for (unsigned i = 0; i < 30 * 24; i++)
		steady_follow(&s, wall += HOUR + HOUR / 2000, boot += HOUR);
	assert_true(steady_is_reliable(&s));
	assert_int_equal(steady_seconds(&s), 30 * 86400);
}

static void test_jumps(void **state)
{
	static const int64_t jumps_s[] = {61, -61, 365 * 86400, -365 * 86400, -1795251600};

	(void)state;
	for (unsigned i = 0; i < sizeof(jumps_s) / sizeof(*jumps_s); i++) {
		uint64_t wall = WALL, boot = BOOT;
		struct steady s;

		steady_begin(&s, wall, boot, 0);
		go_on(&s, &wall, &boot, HOUR);
		assert_int_equal(steady_seconds(&s), 3600);
		wall += (uint64_t)jumps_s[i] * NS;
		steady_follow(&s, wall, boot);
		assert_false(steady_is_reliable(&s));
		assert_int_equal(steady_seconds(&s), 0);
		go_on(&s, &wall, &boot, 23 * HOUR);
		assert_false(steady_is_reliable(&s));
		go_on(&s, &wall, &boot, HOUR);
		assert_true(steady_is_reliable(&s));
		assert_int_equal(steady_seconds(&s), 86400);
	}
}

/* A suspend: CLOCK_BOOTTIME has gone on, too. */
static void test_a_suspend_is_no_jump(void **state)
{
	struct steady s;

	(void)state;
	steady_begin(&s, WALL, BOOT, WALL / NS);
	steady_follow(&s, WALL + 100 * HOUR, BOOT + 100 * HOUR);
	assert_true(steady_is_reliable(&s));
}

static void test_starts(void **state)
{
	uint64_t wall = WALL, boot = BOOT;
	struct steady s;

	(void)state;
	steady_begin(&s, wall, boot, 0);
	assert_true(steady_is_reliable(&s));
	steady_begin(&s, wall, boot, wall / NS - 86400);
	assert_true(steady_is_reliable(&s));
	/* Off for long, or set wrong. */
	steady_begin(&s, wall, boot, wall / NS - 86401);
	assert_false(steady_is_reliable(&s));
	go_on(&s, &wall, &boot, 24 * HOUR);
	assert_true(steady_is_reliable(&s));
	steady_begin(&s, WALL, BOOT, WALL / NS + 86401);
	assert_false(steady_is_reliable(&s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slewing_is_no_jump),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_a_suspend_is_no_jump),
		cmocka_unit_test(test_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
