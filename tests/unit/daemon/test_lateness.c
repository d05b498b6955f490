/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/lateness.h"

static void test_lateness_quantiles(void **state)
{
	struct lateness l = {};

	(void)state;
	assert_int_equal(lateness_quantile(&l, 0.5), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		lateness_add(&l, i * 1000);
	assert_in_range(lateness_quantile(&l, 0.5), 500000, 565000);
	assert_in_range(lateness_quantile(&l, 0.999), 999000, 1000000);
	assert_int_equal(lateness_quantile(&l, 1), 1000000);
	lateness_add(&l, UINT64_MAX);
	assert_int_equal(l.max_ns, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lateness_quantiles)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
