/* SPDX-License-Identifier: MIT */
/* Samples of users go in, and how often the rates of each are halved comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/session/slow_down.h"

static const struct row {
	const char *what;
	unsigned halvings;
	uint64_t samples[4];
	unsigned want[4];
} rows[] = {
	{"nobody is slowed", 0, {8000, 100}, {0, 0}},
	{"one alone", 3, {8000}, {3}},
	{"all alike", 2, {1000, 1000, 1000, 1000}, {2, 2, 2, 2}},
	{"most of all is one's", 1, {8000, 1000, 1000, 1000}, {2, 0, 0, 0}},
	{"an eighth more is near enough", 1, {8000, 100, 100, 100}, {1, 0, 0, 0}},
	{"what the small do not use is the large one's", 1, {6000, 1, 1, 1}, {1, 0, 0, 0}},
	{"two of them are dear", 2, {4000, 4000, 10, 10}, {2, 2, 0, 0}},
	{"the dearer one first", 1, {8000, 2000, 10, 10}, {2, 0, 0, 0}},
	{"nothing is left for anybody", 14, {9000, 100, 10, 1}, {14, 10, 6, 3}},
	{"who had none keeps his rates", 1, {500, 0}, {1, 0}},
	{"nobody had any", 2, {0, 0}, {2, 2}},
	{"more than can be", 99, {1000}, {SLOW_DOWN_MAX}},
	{"as many as numbers go", 1, {UINT64_MAX, UINT64_MAX / 2, 5}, {2, 1, 0}},
};

static void slow_down_fill(struct slow_down *s, const struct row *row)
{
	for (unsigned i = 0; i < ARRAY_SIZE(row->samples); i++)
		if (row->samples[i] || row->want[i] || i < 2)
			slow_down_count(s, 1000 + i, row->samples[i]);
	slow_down_measure(s);
}

static void test_shares(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slow_down s = {0};

		slow_down_fill(&s, &rows[i]);
		slow_down_share(&s, rows[i].halvings);
		for (unsigned k = 0; k < ARRAY_SIZE(rows[i].want); k++)
			if (slow_down_of(&s, 1000 + k) != rows[i].want[k])
				fail_msg("%s: user %u: %u", rows[i].what, k,
					 slow_down_of(&s, 1000 + k));
	}
}

/* Samples at the slower rate stand for as many at the faster: the shares stay. */
static void test_measured_again(void **state)
{
	struct slow_down s = {0};

	(void)state;
	slow_down_count(&s, 1, 8000);
	slow_down_count(&s, 2, 1000);
	slow_down_measure(&s);
	slow_down_share(&s, 2);
	assert_int_equal(slow_down_of(&s, 1), 3);
	assert_int_equal(slow_down_of(&s, 2), 0);
	assert_int_equal(slow_down_most(&s)->uid, 1);
	slow_down_count(&s, 1, 500);
	slow_down_count(&s, 1, 500);
	slow_down_count(&s, 2, 1000);
	slow_down_measure(&s);
	slow_down_share(&s, 2);
	assert_int_equal(slow_down_of(&s, 1), 3);
	assert_int_equal(slow_down_of(&s, 2), 0);
	/* One who has no session now is remembered, until nobody is slowed. */
	slow_down_count(&s, 2, 1000);
	slow_down_measure(&s);
	slow_down_share(&s, 1);
	assert_int_equal(slow_down_of(&s, 1), 3);
	assert_int_equal(slow_down_of(&s, 2), 1);
	slow_down_share(&s, 0);
	assert_int_equal(slow_down_of(&s, 1), 0);
	assert_null(slow_down_most(&s));
}

/* Who is slowed has his place; the others take turns. */
static void test_many_users(void **state)
{
	struct slow_down s = {0};

	(void)state;
	slow_down_count(&s, 5, 100000);
	slow_down_count(&s, 6, 1);
	slow_down_measure(&s);
	slow_down_share(&s, 1);
	for (uid_t uid = 1000; uid < 1000 + 3 * SLOW_DOWN_USERS_MAX; uid++)
		slow_down_count(&s, uid, 10);
	assert_int_equal(s.n, SLOW_DOWN_USERS_MAX);
	assert_true(slow_down_of(&s, 5) >= 1);
	slow_down_measure(&s);
	slow_down_share(&s, 2);
	for (size_t i = 0; i < s.n; i++)
		s.users[i].halvings = 1;
	slow_down_count(&s, 9999, 10);
	assert_int_equal(slow_down_of(&s, 9999), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_measured_again),
		cmocka_unit_test(test_many_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
