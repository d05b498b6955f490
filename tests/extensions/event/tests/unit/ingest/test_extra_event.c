/* SPDX-License-Identifier: MIT */
/* An event that was added has a name, and what perf_event_open(2) calls it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include "daemon/ingest/sources.h"

static void test_another_event(void **state)
{
	struct source_message message;
	struct event event;

	(void)state;
	assert_int_equal(event_parse("major-faults:u", &event, &message), SOURCE_E_OK);
	assert_int_equal(event.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(event.config, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	assert_true(event.exclude_kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_another_event)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
