/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/session/session_set.h"
#include "tests/support/start.h"
#include "tests/unit/session/session_set_fixture.h"

/* Hz are halved down to a floor, which is no more than what was asked for; periods are doubled. */
static void test_rates(void **state)
{
	(void)state;
	assert_int_equal(session_rate(999, false, 0), 999);
	assert_int_equal(session_rate(999, false, 2), 249);
	assert_int_equal(session_rate(999, false, 20), SESSION_HZ_FLOOR);
	assert_int_equal(session_rate(3, false, 1), 3);
	assert_int_equal(session_rate(1000, true, 3), 8000);
	assert_true(session_rate(UINT64_MAX / 4, true, 1) == UINT64_MAX / 4 * 2);
	assert_true(session_rate(UINT64_MAX / 2, true, 2) == UINT64_MAX / 2);
}

/* Each window has one rate, none is lost, and what starts later is slow, too. */
static void test_slower_and_back(void **state)
{
	const struct peer root = {.privileged = true};
	const Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 10,
						    .rate = 999);
	struct source_message message;
	struct world *w = *state;
	struct session *s, *system;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = w->set->sessions[0];
	samples_of(w, system->samplings[0].sampler, 10, 40, 3);
	assert_true(session_set_can_slow_down(w->set, TIER_SYSTEM));
	assert_int_equal(slow_down(w, 0, 2), 0);
	assert_int_equal(system->samplings[0].spec.rate, 25);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_int_equal(s->samplings[0].spec.rate, 999); /* what was asked for */
	samples_of(w, system->samplings[0].sampler, 10, 10, 3);
	samples_of(w, s->samplings[0].sampler, 10, 20, 3);
	assert_int_equal(slow_down(w, 0, 0), 0);
	assert_int_equal(system->samplings[0].spec.rate, 100);
	assert_int_equal(s->samplings[0].spec.rate, 999);
	samples_of(w, system->samplings[0].sampler, 10, 30, 3);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 4);
	assert_int_equal(system->counts.counted, 80);
	assert_int_equal(system->counts.windows_written, 3);
	assert_int_equal(samples_written(w, "services"), 80);
	assert_int_equal(samples_written(w, "sessions"), 20);
	check_ledgers(w);

	/* A paused one has its rate when it goes on. */
	assert_int_equal(session_set_pause(w->set, UINT64_MAX), 0);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_false(session_set_can_slow_down(w->set, TIER_SYSTEM));
	assert_int_equal(slow_down(w, 0, 4), 0);
	assert_int_equal(session_set_resume(w->set), 0);
	assert_int_equal(system->samplings[0].spec.rate, SESSION_HZ_FLOOR);
	assert_false(session_set_can_slow_down(w->set, TIER_SYSTEM));
	check_ledgers(w);
}

/* Users' sessions and the system's can be slowed, each alone; root's have what they asked for. */
static void test_users_first(void **state)
{
	const struct peer root = {.privileged = true}, user = {.uid = 1000};
	const Profd__Control__Start request = START("", "", .target = TARGET_UID, .number = 1000,
						    .rate = 999);
	struct session *of_root, *of_user, *system;
	struct source_message message;
	struct world *w = *state;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = w->set->sessions[0];
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &of_root, &message), 0);
	assert_false(session_set_can_slow_down(w->set, TIER_USERS));
	assert_int_equal(session_set_start(w->set, &user, &request, -1, &of_user, &message), 0);
	assert_int_equal(of_user->samplings[0].sampler, of_root->samplings[0].sampler);
	session_set_measure_users(w->set);
	assert_true(session_set_can_slow_down(w->set, TIER_USERS));

	assert_int_equal(slow_down(w, 1, 0), 0);
	assert_int_equal(system->samplings[0].spec.rate, 100);
	assert_int_equal(system->attachment, 1); /* its window is the same */
	assert_int_equal(of_root->samplings[0].spec.rate, 999);
	assert_int_equal(of_user->samplings[0].spec.rate, 499);
	samples_of(w, system->samplings[0].sampler, 10, 5, 1);
	samples_of(w, of_root->samplings[0].sampler, 10, 4, 1);
	samples_of(w, of_user->samplings[0].sampler, 10, 3, 1);
	assert_int_equal(slow_down(w, 2, 1), 0);
	assert_int_equal(w->set->n_samples[TIER_SYSTEM], 9);
	assert_int_equal(w->set->n_samples[TIER_USERS], 3);
	assert_int_equal(system->samplings[0].spec.rate, 50);
	assert_int_equal(of_root->samplings[0].spec.rate, 999);
	assert_int_equal(of_root->attachment, 1);
	assert_int_equal(of_user->samplings[0].spec.rate, 249);
	assert_int_equal(slow_down(w, 0, 2), 0);
	assert_int_equal(of_user->samplings[0].spec.rate, 999);
	session_set_measure_users(w->set);
	assert_int_equal(slow_down(w, 9, 0), 0);
	assert_int_equal(system->samplings[0].spec.rate, 100);
	assert_int_equal(of_user->samplings[0].spec.rate, SESSION_HZ_FLOOR);
	assert_false(session_set_can_slow_down(w->set, TIER_USERS));
	assert_true(session_set_can_slow_down(w->set, TIER_SYSTEM));
	await_all(w);
	check_ledgers(w);
}

/* Who has most is slowed; who has no more than all may have is not; a session that ended counts. */
static void test_dearest_user_first(void **state)
{
	const struct peer light = {.uid = 1000}, dear = {.uid = 1001};
	const Profd__Control__Start one = START("", "", .target = TARGET_UID, .number = 1000,
						.rate = 99),
				    other = START("", "", .target = TARGET_UID, .number = 1000,
						  .rate = 999);
	struct session *of_light, *of_dear, *third;
	struct source_message message;
	struct world *w = *state;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &light, &one, -1, &of_light, &message), 0);
	assert_int_equal(session_set_start(w->set, &dear, &other, -1, &of_dear, &message), 0);
	samples_of(w, of_light->samplings[0].sampler, 10, 10, 1);
	samples_of(w, of_dear->samplings[0].sampler, 10, 70, 1);
	assert_true(source_drain(w->source, UINT32_MAX) >= 0);
	session_set_measure_users(w->set);
	assert_true(session_set_can_slow_down(w->set, TIER_USERS));
	assert_int_equal(slow_down(w, 1, 0), 0);
	assert_int_equal(of_light->samplings[0].spec.rate, 99);
	assert_int_equal(of_dear->samplings[0].spec.rate, 249); /* 10 and 30 of 80 fit in half */
	/* What he starts anew has that rate, too. */
	assert_int_equal(session_set_stop(w->set, of_dear, NULL), 0);
	assert_int_equal(session_set_start(w->set, &dear, &other, -1, &third, &message), 0);
	assert_int_equal(third->samplings[0].spec.rate, 249);
	assert_int_equal(slow_down(w, 3, 0), 0);
	assert_int_equal(of_light->samplings[0].spec.rate, 49);
	assert_int_equal(third->samplings[0].spec.rate, 62);
	assert_int_equal(slow_down(w, 0, 0), 0);
	assert_int_equal(of_light->samplings[0].spec.rate, 99);
	assert_int_equal(third->samplings[0].spec.rate, 999);
	await_all(w);
	check_ledgers(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		WORLD(test_slower_and_back),
		WORLD(test_users_first),
		WORLD(test_dearest_user_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
