/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/watch.h"

static void test_what_is_hung(void **state)
{
	(void)state;
	assert_int_equal(watch_judge(0, 'S'), WATCH_WELL);
	assert_int_equal(watch_judge(WATCH_SLOW_NS - 1, 'R'), WATCH_WELL);
	assert_int_equal(watch_judge(WATCH_SLOW_NS, 'R'), WATCH_SLOW);
	assert_int_equal(watch_judge(WATCH_HUNG_NS - 1, 'S'), WATCH_SLOW);
	assert_int_equal(watch_judge(WATCH_HUNG_NS, 'S'), WATCH_HUNG);
	assert_int_equal(watch_judge(WATCH_HUNG_NS, 'R'), WATCH_HUNG);
	assert_int_equal(watch_judge(100 * WATCH_HUNG_NS, 'D'), WATCH_SLOW);
}

static void test_states(void **state)
{
	(void)state;
	assert_int_equal(watch_parse_state("12 (profd-output) D 1 12 12 0"), 'D');
	assert_int_equal(watch_parse_state("12 (a) R (b) S 1 12"), 'S');
	assert_int_equal(watch_parse_state("12 (a)"), '?');
	assert_int_equal(watch_parse_state("12 (a) "), '?');
	assert_int_equal(watch_parse_state(""), '?');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_hung),
		cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
