/* SPDX-License-Identifier: MIT */
/* When servers may be asked again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/gateway/attempts.h"

#define S    UINT64_C(1000000000)
#define HOUR (3600 * S)
#define DAY  (24 * HOUR)

static const uint8_t one[] = {1, 2, 3, 4}, other[] = {1, 2, 3};

static void test_answers(void **state)
{
	struct attempts *a = calloc(1, sizeof(*a));
	uint64_t now = 5 * S;

	(void)state;
	assert_non_null(a);
	assert_true(attempts_may_query(a, 0));
	assert_true(attempts_may_query_id(a, one, sizeof(one), now));
	attempts_answered(a, one, sizeof(one), now);
	assert_true(attempts_may_query(a, now));
	assert_false(attempts_may_query_id(a, one, sizeof(one), now));
	assert_false(attempts_may_query_id(a, one, sizeof(one), now + DAY - 1));
	assert_true(attempts_may_query_id(a, one, sizeof(one), now + DAY));
	assert_true(attempts_may_query_id(a, other, sizeof(other), now));
	free(a);
}

static void test_rests(void **state)
{
	static const uint64_t minutes[] = {1, 2, 4, 8, 16, 32, 60, 60};
	struct attempts *a = calloc(1, sizeof(*a));
	uint64_t now = 5 * S, rest;

	(void)state;
	assert_non_null(a);
	for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
		rest = attempts_failed(a, one, sizeof(one), now);
		assert_int_equal(rest, minutes[i] * 60 * S);
		assert_false(attempts_may_query(a, now + rest - 1));
		assert_true(attempts_may_query(a, now + rest));
		/* Others first. */
		assert_false(attempts_may_query_id(a, one, sizeof(one), now + HOUR - 1));
		assert_true(attempts_may_query_id(a, one, sizeof(one), now + HOUR));
		assert_true(attempts_may_query_id(a, other, sizeof(other), now));
	}
	attempts_answered(a, other, sizeof(other), now);
	assert_true(attempts_may_query(a, now));
	rest = attempts_failed(a, one, sizeof(one), now);
	assert_int_equal(rest, 60 * S);
	free(a);
}

static void test_bounds(void **state)
{
	uint8_t id[ATTEMPTS_ID_MAX + 1] = {0};
	uint32_t n_forgotten = 0;
	struct attempts *a = calloc(1, sizeof(*a));

	(void)state;
	assert_non_null(a);
	assert_false(attempts_may_query_id(a, id, 0, 0));
	assert_false(attempts_may_query_id(a, id, sizeof(id), 0));
	assert_true(attempts_may_query_id(a, id, ATTEMPTS_ID_MAX, 0));
	/* Twice as many as there may be: the older half is forgotten, and what failed first. */
	attempts_failed(a, one, sizeof(one), 0);
	for (uint32_t i = 0; i < 2 * ATTEMPTS_MAX; i++) {
		memcpy(id, &i, sizeof(i));
		attempts_answered(a, id, 8, i);
	}
	assert_true(attempts_may_query_id(a, one, sizeof(one), 0));
	for (uint32_t i = 0; i < 2 * ATTEMPTS_MAX; i++) {
		memcpy(id, &i, sizeof(i));
		n_forgotten += attempts_may_query_id(a, id, 8, 2 * ATTEMPTS_MAX);
		assert_int_equal(n_forgotten, i < ATTEMPTS_MAX ? i + 1 : ATTEMPTS_MAX);
	}
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_rests),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
