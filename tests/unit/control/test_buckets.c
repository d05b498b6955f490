/* SPDX-License-Identifier: MIT */
/* Each uid draws from its own bucket; and places are shared so that some stay free. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/control/buckets.h"
#include "daemon/control/control.h"

#define S        UINT64_C(1000000000)
#define NOW      (1000 * S)
#define PERCENT  ((struct buckets){.share = 0.01}) /* 10 ms of CPU a second */
#define BURST_US 100000

static void test_burst_and_rate(void **state)
{
	struct buckets b = PERCENT;

	(void)state;
	for (unsigned i = 0; i < BURST_US / 1000; i++) {
		assert_int_equal(buckets_wait_ns(&b, 7, NOW), 0);
		buckets_draw(&b, 7, 1000, NOW);
	}
	/* Just empty: the next one may go on, and owes what it costs. */
	assert_int_equal(buckets_wait_ns(&b, 7, NOW), 0);
	buckets_draw(&b, 7, 5000, NOW);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW), S / 2);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW + S / 4), S / 4);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW + S / 2), 0);
	assert_int_equal(buckets_wait_ns(&b, 8, NOW), 0);
	/* From then on, as much as its share. */
	for (uint64_t now = NOW; now < NOW + 100 * S; now += S / 100)
		if (!buckets_wait_ns(&b, 7, now))
			buckets_draw(&b, 7, 1000, now);
	assert_in_range(b.uids[BUCKETS_UIDS - 1].full_ns, NOW + 109 * S, NOW + 111 * S);
	/* Full again, and no fuller. */
	buckets_draw(&b, 7, BURST_US, NOW + 1000 * S);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW + 1000 * S), 0);
	buckets_draw(&b, 7, 1000, NOW + 1000 * S);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW + 1000 * S), S / 10);
}

/* A place is given on when its bucket is full; those that find none are as one. */
static void test_many_uids(void **state)
{
	struct buckets b = PERCENT;

	(void)state;
	for (uid_t uid = 0; uid < BUCKETS_UIDS; uid++)
		buckets_draw(&b, uid, 2 * BURST_US, NOW);
	for (uid_t uid = 0; uid < BUCKETS_UIDS; uid++)
		assert_int_equal(buckets_wait_ns(&b, uid, NOW), 10 * S);
	for (uid_t uid = 100; uid < 1000; uid++)
		if (!buckets_wait_ns(&b, uid, NOW))
			buckets_draw(&b, uid, BURST_US, NOW);
	assert_int_equal(b.others.full_ns, NOW + 20 * S); /* two of them had something */
	assert_int_equal(buckets_wait_ns(&b, 5000, NOW), 10 * S);
	assert_int_equal(buckets_wait_ns(&b, 3, NOW + 5 * S), 5 * S);
	assert_int_equal(buckets_wait_ns(&b, 5000, NOW + 20 * S), 0);
	buckets_draw(&b, 5000, 2 * BURST_US, NOW + 20 * S);
	assert_int_equal(buckets_wait_ns(&b, 5001, NOW + 20 * S), 0);
	assert_int_equal(buckets_wait_ns(&b, 5000, NOW + 20 * S), 10 * S);
}

/* How many more places @peer gets; the ones that it had are others' now. */
static unsigned take_places(struct places *p, const struct peer *peer)
{
	p->n_own = 0;
	while (places_has_room(p, peer))
		places_count(p, peer, peer->uid, peer->privileged);
	return p->n_own;
}

static void test_places(void **state)
{
	const struct peer root = {.privileged = true}, user = {.uid = 1000};
	struct places p = {.max = 64};

	(void)state;
	assert_int_equal(take_places(&p, &user), 16);
	assert_int_equal(take_places(&p, &user), 11); /* another one, and so on */
	for (unsigned i = 0; i < 100; i++)
		take_places(&p, &user);
	assert_int_equal(p.n_unprivileged, 48);
	take_places(&p, &root);
	assert_int_equal(p.n, 64);
	assert_false(places_has_room(&p, &root));
	/* Four a user, as sessions are limited: ten users have all theirs. */
	p = (struct places){.max = 64};
	for (unsigned i = 0; i < 10; i++) {
		p.n_own = 0;
		for (unsigned k = 0; k < 4; k++, places_count(&p, &user, user.uid, false))
			assert_true(places_has_room(&p, &user));
	}
	/* Few places: one each; and the only one is for all. */
	p = (struct places){.max = 4};
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take_places(&p, &user), 1);
	assert_int_equal(take_places(&p, &user), 0);
	p = (struct places){.max = 1};
	assert_int_equal(take_places(&p, &user), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst_and_rate),
		cmocka_unit_test(test_many_uids),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
