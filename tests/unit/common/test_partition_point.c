/* SPDX-License-Identifier: MIT */
/* Every array that has a point where it changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/partition_point.h"

#define N_MAX 40

static void test_every_point(void **state)
{
	bool holds[N_MAX] = {false};

	(void)state;
	for (size_t point = 0; point <= N_MAX; point++) {
		for (size_t n = point; n <= N_MAX; n++)
			assert_int_equal(partition_point(n, i, holds[i]), point);
		for (size_t n = 0; n < point; n++)
			assert_int_equal(partition_point(n, i, holds[i]), n);
		if (point < N_MAX)
			holds[point] = true;
	}
}

/* Few questions, and of what is there alone, whatever the answers are. */
static void test_questions(void **state)
{
	uint32_t answers = 1;

	(void)state;
	for (size_t n = 0; n < 1000; n++) {
		unsigned questions = 0;
		size_t at;

		answers = answers * 1664525 + 1013904223;
		at = partition_point(n, i, (assert_true(i < n), answers >> questions++ & 1));
		assert_true(at <= n);
		assert_true(questions <= 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_point),
		cmocka_unit_test(test_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
