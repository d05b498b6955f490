/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/notify.h"

static void test_what_is_hung(void **state)
{
	const uint64_t patience = 7, hung = WATCH_HUNG_TIMES * patience;

	(void)state;
	assert_int_equal(watch_judge(0, 0, patience), WATCH_WELL);
	assert_int_equal(watch_judge(patience - 1, patience - 1, patience), WATCH_WELL);
	assert_int_equal(watch_judge(patience, patience, patience), WATCH_SLOW);
	assert_int_equal(watch_judge(hung - 1, hung - 1, patience), WATCH_SLOW);
	assert_int_equal(watch_judge(hung, hung, patience), WATCH_HUNG);
	/* It has waited for the disk, until a moment ago or not quite so long. */
	assert_int_equal(watch_judge(100 * hung, 0, patience), WATCH_SLOW);
	assert_int_equal(watch_judge(100 * hung, hung - 1, patience), WATCH_SLOW);
	assert_int_equal(watch_judge(100 * hung, hung, patience), WATCH_HUNG);
	/* As long as anybody can be told to have patience. */
	assert_int_equal(watch_judge(UINT64_MAX, UINT64_MAX, UINT64_MAX), WATCH_SLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_hung),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
