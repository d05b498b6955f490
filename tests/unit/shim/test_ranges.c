/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/shim/core/images.h"

#define ADDRESSES 200

static struct ranges ranges;

/* Ascending, none empty, none beside another; and of each address what @wanted says. */
static void check(const bool wanted[ADDRESSES])
{
	bool have[ADDRESSES] = {0};

	for (unsigned i = 0; i < ranges.n; i++) {
		assert_true(ranges.at[i].start < ranges.at[i].end);
		if (i)
			assert_true(ranges.at[i - 1].end < ranges.at[i].start);
		for (uint64_t at = ranges.at[i].start; at < ranges.at[i].end; at++)
			have[at] = true;
	}
	assert_memory_equal(have, wanted, sizeof(have));
}

static void test_any_order(void **state)
{
	bool wanted[ADDRESSES];

	(void)state;
	srand(1);
	for (int round = 0; round < 500; round++) {
		memset(wanted, 0, sizeof(wanted));
		ranges.n = 0;
		for (int i = 0; i < 40; i++) {
			unsigned start = (unsigned)rand() % (ADDRESSES - 20);
			unsigned end = start + 1 + (unsigned)rand() % 20;
			bool adds = rand() % 3 > 0;

			assert_true((adds ? ranges_add : ranges_remove)(&ranges, start, end));
			memset(wanted + start, adds, end - start);
			check(wanted);
		}
	}
}

static void test_full(void **state)
{
	struct range last;

	(void)state;
	ranges.n = 0;
	for (uint64_t i = 0; i < RANGES_MAX; i++)
		assert_true(ranges_add(&ranges, 100 * i, 100 * i + 50));
	last = ranges.at[RANGES_MAX - 1];
	assert_false(ranges_add(&ranges, 100 * RANGES_MAX, 100 * RANGES_MAX + 1));
	assert_false(ranges_remove(&ranges, 10, 20));
	assert_int_equal(ranges.n, RANGES_MAX);
	assert_memory_equal(&ranges.at[RANGES_MAX - 1], &last, sizeof(last));
	assert_true(ranges_add(&ranges, 0, UINT64_MAX));
	assert_int_equal(ranges.n, 1);
	assert_true(ranges_remove(&ranges, 0, UINT64_MAX));
	assert_int_equal(ranges.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
