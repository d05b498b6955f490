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

/* One more uid than there are places takes over what the nearest to full has left. */
static void test_nearest_to_full_is_taken_over(void **state)
{
	struct buckets b = PERCENT;

	(void)state;
	for (uid_t uid = 0; uid < BUCKETS_UIDS; uid++)
		buckets_draw(&b, uid, (uid == 5 ? 1 : 3) * (uint64_t)BURST_US / 2, NOW);
	assert_int_equal(buckets_wait_ns(&b, 3, NOW), 5 * S);
	assert_int_equal(buckets_wait_ns(&b, 5000, NOW), 0);
	buckets_draw(&b, 5000, BURST_US, NOW); /* half of which it finds */
	assert_int_equal(buckets_wait_ns(&b, 5000, NOW), 5 * S);
	for (uid_t uid = 0; uid < BUCKETS_UIDS; uid++)
		assert_int_equal(buckets_wait_ns(&b, uid, NOW), 5 * S);
	assert_int_equal(buckets_wait_ns(&b, 5000, NOW + 3 * S), 2 * S);
	/* A full one is like a new one. */
	buckets_draw(&b, 6000, BURST_US / 2, NOW + 20 * S);
	assert_int_equal(buckets_wait_ns(&b, 6000, NOW + 20 * S), 0);
	buckets_draw(&b, 6000, BURST_US, NOW + 20 * S);
	assert_int_equal(buckets_wait_ns(&b, 6000, NOW + 20 * S), 5 * S);
}

/* A person who has many uids has no more than all places. */
static void test_many_uids(void **state)
{
	struct buckets b = PERCENT;
	uint64_t drawn_us = 0;

	(void)state;
	for (uint64_t now = NOW; now < NOW + 100 * S; now += S / 100)
		for (uid_t uid = 100; uid < 1000; uid++)
			if (!buckets_wait_ns(&b, uid, now)) {
				buckets_draw(&b, uid, 2000, now);
				drawn_us += 2000;
			}
	assert_in_range(drawn_us, BUCKETS_UIDS * 10 * BURST_US,
			BUCKETS_UIDS * (11 * BURST_US + 2000));
}

/* What is known afterwards is drawn as well, but for what would take more than a minute. */
static void test_owed(void **state)
{
	struct buckets b = PERCENT;

	(void)state;
	buckets_owe(&b, 7, BURST_US * 3 / 2, NOW);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW), 5 * S);
	buckets_owe(&b, 7, BURST_US * 100, NOW);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW), 60 * S);
	buckets_draw(&b, 7, BURST_US, NOW);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW), 70 * S);
	buckets_owe(&b, 7, BURST_US, NOW);
	assert_int_equal(buckets_wait_ns(&b, 7, NOW), 70 * S);
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
		cmocka_unit_test(test_nearest_to_full_is_taken_over),
		cmocka_unit_test(test_many_uids),
		cmocka_unit_test(test_owed),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
