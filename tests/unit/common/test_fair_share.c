/* SPDX-License-Identifier: MIT */
/* Users that take all that they can get, and who comes after them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/fair_share.h"

#define ALL     64
#define USER    20000
#define SERVICE 100

struct takers {
	uid_t uids[ALL];
	unsigned n;
};

static bool takes_one(struct takers *t, uid_t uid)
{
	struct fair_share share = fair_share_for(uid, ALL);

	for (unsigned i = 0; i < t->n; i++)
		fair_share_count(&share, t->uids[i]);
	if (!fair_share_has_room(&share))
		return false;
	assert_true(t->n < ALL);
	t->uids[t->n++] = uid;
	return true;
}

static unsigned takes_all(struct takers *t, uid_t uid)
{
	unsigned n = 0;

	while (takes_one(t, uid))
		n++;
	return n;
}

static void test_some_are_left_for_the_next(void **state)
{
	struct takers t = {.n = 0};
	unsigned n, last = ALL / 4;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		n = takes_all(&t, USER + i);
		assert_true(n > 0 && n <= last);
		last = n;
	}
}

/* Ordinary users are without end; services have room all the same, and root has behind those. */
static void test_kinds_have_their_own(void **state)
{
	struct takers t = {.n = 0};

	(void)state;
	for (unsigned i = 0; i < ALL; i++)
		takes_all(&t, USER + i);
	assert_int_equal(t.n, ALL / 2);
	for (unsigned i = 0; i < ALL; i++)
		takes_all(&t, SERVICE + i);
	assert_int_equal(t.n, ALL / 4 * 3);
	assert_false(takes_one(&t, USER));
	assert_in_range(takes_all(&t, 0), ALL / 16, ALL / 8);
}

/* What root has takes nothing from others, until there is none. */
static void test_root_takes_no_share(void **state)
{
	struct takers t = {.n = 0}, alone = {.n = 0};

	(void)state;
	for (unsigned i = 0; i < ALL / 4; i++)
		assert_true(takes_one(&t, 0));
	assert_true(takes_one(&t, SERVICE));
	assert_int_equal(takes_all(&t, USER), takes_all(&alone, USER));
	assert_true(takes_all(&t, 0) < ALL / 4);
	assert_true(takes_one(&t, USER + 1));
}

static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(fair_kind_of(0), FAIR_KIND_ROOT);
	assert_int_equal(fair_kind_of(999), FAIR_KIND_SERVICE);
	assert_int_equal(fair_kind_of(1001), FAIR_KIND_USER);
	assert_int_equal(fair_kind_of(65000), FAIR_KIND_SERVICE);
	assert_int_equal(fair_kind_of(65534), FAIR_KIND_USER);
	assert_int_equal(fair_kind_of((uid_t)-1), FAIR_KIND_USER);
	assert_int_equal(fair_kind_of(100000), FAIR_KIND_USER);
}

/* Who fills what has to give way loses his own, and nobody else's. */
static void test_who_gives_way(void **state)
{
	struct fair_holder all[8] = {{0, 1}, {SERVICE, 2}, {USER, 3},     {USER + 1, 4},
				     {0, 5}, {USER, 6},    {USER + 1, 7}, {USER, 8}};

	(void)state;
	assert_int_equal(fair_share_find_oldest(all, 8), 2);
	assert_int_equal(fair_share_find_oldest(all, 1), 0);
	/* Ordinary users have no more than half: the oldest of all. */
	assert_int_equal(fair_share_find_oldest(all, 4), 0);
	all[2].uid = USER + 1;
	assert_int_equal(fair_share_find_oldest(all, 8), 2);
	/* As many each: the older one. */
	all[7].uid = 0;
	all[4].uid = USER + 2;
	all[6].uid = USER;
	assert_int_equal(fair_share_find_oldest(all, 8), 2);
	all[2].used = 100;
	assert_int_equal(fair_share_find_oldest(all, 8), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_some_are_left_for_the_next),
		cmocka_unit_test(test_kinds_have_their_own),
		cmocka_unit_test(test_root_takes_no_share),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_who_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
