/* SPDX-License-Identifier: MIT */
/*
 * How long a target and its windows rest: longer each time, as long as a target asks for and no
 * longer than an hour; and a window that fails while others are stored is given up, one that fails
 * with all others is not, for an hour.
 */
#include "client/gateway/export/rest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/clock.h"

#define NOW (1000 * NS_PER_S)
#define MAX (300 * NS_PER_S) /* of one rest */

/* What a rest after that many failures is at most; half of it at least. */
static uint64_t longest_rest(unsigned n_failed)
{
	return n_failed > 9 ? MAX : NS_PER_S << (n_failed - 1);
}

static void test_longer_each_time(void **state)
{
	(void)state;
	for (unsigned n = 1; n < 40; n++)
		for (int i = 0; i < 20; i++)
			assert_in_range(rest_after(n), longest_rest(n) / 2, longest_rest(n));
}

static void test_target(void **state)
{
	struct rest r = {0};
	uint64_t end_ns;

	(void)state;
	assert_false(rest_is_on(&r, NOW));
	assert_true(rest_begin(&r, NOW, 0));
	end_ns = rest_end(&r);
	assert_in_range(end_ns, NOW + NS_PER_S / 2, NOW + NS_PER_S);
	/* In company: the rest is no longer, and logged once. */
	assert_false(rest_begin(&r, NOW, 0));
	assert_int_equal(rest_end(&r), end_ns);
	assert_int_equal(r.n_failed, 1);
	assert_true(rest_is_on(&r, end_ns - 1));
	assert_false(rest_is_on(&r, end_ns));
	assert_false(rest_begin(&r, end_ns, 0));
	assert_in_range(rest_end(&r), end_ns + NS_PER_S, end_ns + 2 * NS_PER_S);
	assert_true(rest_note_stored(&r, end_ns + 1));
	assert_false(rest_is_on(&r, end_ns + 1));
	assert_false(rest_note_stored(&r, end_ns + 1));
}

/* At least as long as it asks, whatever comes in between; but not for ever. */
static void test_target_asks(void **state)
{
	struct rest r = {0};

	(void)state;
	assert_true(rest_begin(&r, NOW, 0));
	assert_false(rest_begin(&r, NOW, 120));
	assert_false(rest_begin(&r, NOW, 5));
	assert_in_range(rest_end(&r), NOW + 120 * NS_PER_S, NOW + 121 * NS_PER_S);
	assert_true(rest_note_stored(&r, NOW + 1));
	assert_true(rest_is_on(&r, NOW + 120 * NS_PER_S - 1));
	/* It failed again: that is another line, and one only. */
	assert_true(rest_begin(&r, NOW + 2, 0));
	assert_false(rest_begin(&r, NOW + 2, 0));
	assert_false(rest_is_on(&r, NOW + 121 * NS_PER_S));
	assert_false(rest_begin(&r, NOW + 200 * NS_PER_S, UINT64_MAX));
	assert_in_range(rest_end(&r), NOW + 3800 * NS_PER_S, NOW + 3801 * NS_PER_S);
}

/* The target stores others: it is the window's fault. */
static void test_window_alone(void **state)
{
	struct rest_failures f = {0};
	struct rest target = {0};
	uint64_t now_ns = NOW, until_ns = 0;

	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		f.begun_ns = now_ns;
		rest_note_stored(&target, now_ns + 1);
		assert_int_equal(rest_doubt(&f, &target, now_ns + 2, &until_ns), REST_DOUBT_WINDOW);
		assert_in_range(until_ns, now_ns + 2 + (NS_PER_S << n) / 4,
				now_ns + 2 + (NS_PER_S << n) / 2);
		now_ns = until_ns;
	}
	f.begun_ns = now_ns;
	rest_note_stored(&target, now_ns + 1);
	assert_int_equal(rest_doubt(&f, &target, now_ns + 2, &until_ns), REST_DOUBT_GIVEN_UP);
}

/* Nothing else is stored either: that is no reason to give it up, until an hour has passed. */
static void test_window_in_company(void **state)
{
	struct rest_failures f = {.begun_ns = NOW};
	const struct rest target = {.stored_ns = NOW - 1};
	uint64_t now_ns = NOW, least_ns = 0;

	(void)state;
	while (rest_doubt(&f, &target, now_ns, &now_ns) == REST_DOUBT_TARGET) {
		least_ns += longest_rest(f.n) / 2;
		f.begun_ns = now_ns;
	}
	assert_int_equal(rest_doubt(&f, &target, now_ns, &now_ns), REST_DOUBT_GIVEN_UP);
	assert_in_range(least_ns, 3600 * NS_PER_S, 4000 * NS_PER_S);
	assert_true(now_ns - NOW >= least_ns);
	assert_int_equal(f.n_own, 0);
}

/* What was stored before it failed the first time says nothing of it. */
static void test_others_before(void **state)
{
	struct rest_failures f = {.begun_ns = NOW};
	struct rest target = {.stored_ns = NOW + 1};
	uint64_t until_ns;

	(void)state;
	for (unsigned n = 1; n <= 8; n++, f.begun_ns = NOW + n)
		assert_int_not_equal(rest_doubt(&f, &target, NOW + 2 * n, &until_ns),
				     REST_DOUBT_GIVEN_UP);
	assert_int_equal(f.n_own, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_longer_each_time),  cmocka_unit_test(test_target),
		cmocka_unit_test(test_target_asks),       cmocka_unit_test(test_window_alone),
		cmocka_unit_test(test_window_in_company), cmocka_unit_test(test_others_before),
	};

	return cmocka_run_group_tests_name("rest", tests, NULL, NULL);
}
