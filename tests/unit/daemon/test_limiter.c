/* SPDX-License-Identifier: MIT */
/* The decision alone: shares go in, one after the other, and halvings come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/limiter.h"

#define MAX_SHARE 0.01

struct row {
	const char *what;
	double shares[8]; /* 0 ends them */
	unsigned before, after;
	bool cannot_slow;
};

static const struct row rows[] = {
	{"within the limit", {0.01, 0.01, 0.01, 0.01}, 0, 0, false},
	{"twice above", {0.05, 0.05, 0.01, 0.05, 0.05, 0.01}, 0, 0, false},
	{"three times above", {0.02, 0.011, 0.011}, 0, 1, false},
	{"a step needs three more", {0.9, 0.9, 0.9, 0.9, 0.9}, 0, 1, false},
	{"and so on", {0.9, 0.9, 0.9, 0.9, 0.9, 0.9}, 0, 2, false},
	{"no rate is left to halve", {0.9, 0.9, 0.9, 0.9}, 1, 1, true},
	{"the end", {0.9, 0.9, 0.9}, LIMITER_HALVINGS_MAX, LIMITER_HALVINGS_MAX, false},
	{"low, but not for long enough", {0.004}, 2, 2, false},
	{"low for long", {0.004, 0.004}, 2, 1, false},
	{"then it counts anew", {0.004, 0.004, 0.004}, 2, 1, false},
	{"low, with a break", {0.004, 0.005, 0.004, 0.005, 0.004}, 2, 2, false},
	{"as fast as there is room for", {0.001, 0.001}, 5, 2, false},
	{"as fast as can be", {1e-9, 1e-9}, 5, 0, false},
	{"twice as much would not do",
	 {0.0041, 0.0041, 0.0041, 0.0041, 0.0041, 0.0041},
	 2,
	 2,
	 false},
	{"low at full rate", {0.001, 0.001, 0.001, 0.001, 0.001, 0.001}, 0, 0, false},
	{"low where nothing can be slowed", {0.001, 0.001}, 3, 0, true},
};

static void test_decisions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct limiter l = {.halvings[TIER_SYSTEM] = rows[i].before};
		const bool can_slow[N_TIERS] = {[TIER_SYSTEM] = !rows[i].cannot_slow};
		unsigned before = rows[i].before;

		for (const double *share = rows[i].shares; *share > 0; share++) {
			bool changed = limiter_judge(&l, *share, MAX_SHARE, can_slow);

			assert_int_equal(changed, l.halvings[TIER_SYSTEM] != before);
			before = l.halvings[TIER_SYSTEM];
		}
		if (before != rows[i].after)
			fail_msg("%s: %u halvings, not %u", rows[i].what, before, rows[i].after);
		assert_int_equal(l.halvings[TIER_USERS], 0);
	}
}

/* Nothing that would be followed by a step back: with half the work a share is half as big. */
static void test_it_does_not_swing(void **state)
{
	const bool can_slow[N_TIERS] = {[TIER_SYSTEM] = true};

	(void)state;
	for (double at_full = 0.0005; at_full < 0.3; at_full *= 1.07) {
		struct limiter l = {0};
		unsigned n_changes = 0, halvings = 0;

		for (unsigned i = 0; i < 200; i++)
			n_changes += limiter_judge(&l, at_full / (1u << l.halvings[TIER_SYSTEM]),
						   MAX_SHARE, can_slow);
		while (at_full / (1u << halvings) > MAX_SHARE)
			halvings++;
		assert_int_equal(l.halvings[TIER_SYSTEM], halvings);
		assert_int_equal(n_changes, halvings);
	}
}

/* After @n measurements of @share. */
static void check_tiers(struct limiter *l, double share, unsigned n, unsigned users,
			unsigned system)
{
	const bool can_slow[N_TIERS] = {l->halvings[TIER_USERS] < 5, true};

	for (unsigned i = 0; i < n; i++)
		limiter_judge(l, share, MAX_SHARE, can_slow);
	assert_int_equal(l->halvings[TIER_USERS], users);
	assert_int_equal(l->halvings[TIER_SYSTEM], system);
}

/* Users' sessions fall first, as far as need be at once, and rise last. */
static void test_tiers(void **state)
{
	struct limiter l = {0};

	(void)state;
	check_tiers(&l, 0.03, LIMITER_OVER, 2, 0); /* a quarter of it would fit, half would not */
	check_tiers(&l, 0.011, LIMITER_OVER, 3, 0);
	check_tiers(&l, 0.04, LIMITER_OVER, 5, 0);
	check_tiers(&l, 0.04, LIMITER_OVER, 5, 1); /* the system's, step by step */
	check_tiers(&l, 0.04, LIMITER_OVER, 5, 2);
	check_tiers(&l, 0.003, LIMITER_UNDER, 5, 1);
	check_tiers(&l, 0.001, LIMITER_UNDER, 5, 0); /* one tier at a time */
	check_tiers(&l, 0.001, LIMITER_UNDER, 2, 0);
	l.halvings[TIER_USERS] = 0;
	check_tiers(&l, 1, LIMITER_OVER, 7, 0);
	l.halvings[TIER_USERS] = 4;
	check_tiers(&l, 1e9, LIMITER_OVER, LIMITER_HALVINGS_MAX, 0);
}

/* Sampling is to blame only for what it takes itself. */
static void test_blame(void **state)
{
	static const struct {
		double shares[N_COSTS];
		enum cost blamed;
	} cases[] = {
		{{[COST_SAMPLING] = 0.01}, N_COSTS},
		{{[COST_SAMPLING] = 0.004, [COST_EVENTS] = 0.004}, N_COSTS},
		{{[COST_SAMPLING] = 0.02}, COST_SAMPLING},
		{{[COST_SAMPLING] = 0.02, [COST_EVENTS] = 0.5}, COST_SAMPLING},
		{{[COST_SAMPLING] = 0.009, [COST_EVENTS] = 0.002}, COST_EVENTS},
		{{[COST_SAMPLING] = 0.009, [COST_SWITCHES] = 0.002, [COST_EVENTS] = 0.001},
		 COST_SWITCHES},
		{{[COST_EVENTS] = 0.02, [COST_NAMES] = 0.03, [COST_OUTPUT] = 0.01}, COST_NAMES},
		{{[COST_CONTROL] = 0.02, [COST_OUTPUT] = 0.01}, COST_CONTROL},
		{{[COST_EVENTS] = 0.03, [COST_CONTROL] = 0.02}, COST_EVENTS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(limiter_blame(cases[i].shares, MAX_SHARE), cases[i].blamed);
}

static void test_rates(void **state)
{
	(void)state;
	assert_int_equal(session_rate(99, false, 0), 99);
	assert_int_equal(session_rate(99, false, 1), 49);
	assert_int_equal(session_rate(99, false, 3), 12);
	assert_int_equal(session_rate(99, false, 4), SESSION_HZ_FLOOR);
	assert_int_equal(session_rate(99, false, 10), SESSION_HZ_FLOOR);
	assert_int_equal(session_rate(7, false, 3), 7);
	assert_int_equal(session_rate(1000, true, 3), 8000);
	assert_int_equal(session_rate(UINT64_MAX - 1, true, 3), UINT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decisions), cmocka_unit_test(test_it_does_not_swing),
		cmocka_unit_test(test_tiers),     cmocka_unit_test(test_blame),
		cmocka_unit_test(test_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
