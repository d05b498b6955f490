/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/ingest/source_perf_stack.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

static void test_examples(void **state)
{
	struct perf_plan plan;

	(void)state;
	plan = perf_plan_make(4 * MIB, 10); /* 99 Hz, drained ten times a second */
	assert_int_equal(plan.stack_bytes, 48 * KIB);
	assert_int_equal(plan.ring_bytes, MIB);
	plan = perf_plan_make(4 * MIB, 100);
	assert_int_equal(plan.stack_bytes, 16 * KIB);
	assert_int_equal(plan.ring_bytes, 4 * MIB);
	plan = perf_plan_make(64 * KIB, 10); /* 128 CPUs and little memory */
	assert_int_equal(plan.stack_bytes, 0);
	assert_int_equal(plan.ring_bytes, 16 * KIB);
}

/* Without room for what is wanted: what fits. Without room for anything: nothing. */
static void test_little_room(void **state)
{
	struct perf_plan plan;

	(void)state;
	plan = perf_plan_make(40 * KIB, 1000);
	assert_int_equal(plan.stack_bytes, 0);
	assert_int_equal(plan.ring_bytes, 32 * KIB);
	plan = perf_plan_make(PERF_PLAN_RING_LEAST, UINT64_MAX);
	assert_int_equal(plan.ring_bytes, PERF_PLAN_RING_LEAST);
	plan = perf_plan_make(PERF_PLAN_RING_LEAST - 1, 1);
	assert_int_equal(plan.ring_bytes, 0);
	plan = perf_plan_make(0, 1);
	assert_int_equal(plan.ring_bytes, 0);
}

/* Whatever is asked for: within the memory, a power of two, room for several copies, and with more
 * memory or fewer ticks never smaller copies.
 */
static void test_invariants(void **state)
{
	(void)state;
	for (uint64_t most = 4 * KIB; most < 1024 * MIB; most += most / 3) {
		uint32_t before = UINT32_MAX;

		for (uint64_t ticks = 0; ticks < 100000; ticks += 1 + ticks / 4) {
			struct perf_plan plan = perf_plan_make(most, ticks);

			assert_true(plan.ring_bytes <= most);
			assert_false(plan.ring_bytes & (plan.ring_bytes - 1));
			assert_false(plan.stack_bytes % 8);
			assert_true(plan.stack_bytes < 65528);
			assert_true(plan.stack_bytes <= before);
			assert_true(plan.stack_bytes <=
				    perf_plan_make(2 * most, ticks).stack_bytes);
			if (plan.stack_bytes)
				assert_true(plan.ring_bytes >= 2 * ticks * plan.stack_bytes &&
					    plan.ring_bytes >= UINT64_C(8) * plan.stack_bytes);
			before = plan.stack_bytes;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_invariants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
