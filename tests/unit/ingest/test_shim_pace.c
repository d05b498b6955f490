/* SPDX-License-Identifier: MIT */
/* How often strangers may have processes attached. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/ingest/shim_limits.h"

#define NOW UINT64_C(1000000000000)

static unsigned count_allowed(struct shim_pace *pace, uid_t uid, unsigned n, uint64_t now_ns)
{
	unsigned n_allowed = 0;

	for (unsigned i = 0; i < n; i++)
		n_allowed += shim_pace_allows(pace, uid, now_ns);
	return n_allowed;
}

static void test_one(void **state)
{
	struct shim_pace pace = {};
	unsigned n = 0;

	(void)state;
	assert_int_equal(count_allowed(&pace, 1000, 1000, NOW), SHIM_PACE_BURST);
	assert_int_equal(count_allowed(&pace, 1000, 10, NOW + SHIM_PACE_NS - 1), 0);
	assert_int_equal(count_allowed(&pace, 1000, 10, NOW + SHIM_PACE_NS), 1);
	/* As fast as it can for ten seconds. */
	for (uint64_t t = 1; t <= 10000; t++)
		n += count_allowed(&pace, 1000, 3, NOW + t * 1000000);
	assert_in_range(n, 490, 501);
	/* Who is quiet for a while has its burst again. */
	assert_int_equal(count_allowed(&pace, 1000, 1000, 2 * NOW), SHIM_PACE_BURST);
}

static void test_others(void **state)
{
	struct shim_pace pace = {};

	(void)state;
	assert_int_equal(count_allowed(&pace, 1000, 1000, NOW), SHIM_PACE_BURST);
	for (uid_t uid = 2000; uid < 2500; uid++)
		assert_int_equal(count_allowed(&pace, uid, 3, NOW), 3);
	/* However many others there are, who asked for most is remembered. */
	assert_int_equal(count_allowed(&pace, 1000, 10, NOW), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
