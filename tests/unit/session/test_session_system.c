/* SPDX-License-Identifier: MIT */
/* The system session stops, pauses, is refused, and comes back; no sample is lost over it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "daemon/session/session_set.h"
#include "tests/unit/session/session_set_fixture.h"

/* As after reloads that switch it off and on; what is stopped can neither be paused nor resumed. */
static void test_the_system_session_comes_back(void **state)
{
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	assert_int_equal(session_set_pause(w->set, UINT64_MAX), SESSION_PAUSE_E_OFF);
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = w->set->sessions[0];
	exec_of(w, 10, "a");
	for (unsigned i = 0; i < 2; i++) {
		samples_of(w, s->samplings[0].sampler, 10, 10, 1);
		assert_int_equal(session_set_stop_system(w->set), 0);
		assert_int_equal(session_set_pause(w->set, UINT64_MAX), SESSION_PAUSE_E_OFF);
		assert_int_equal(session_set_resume(w->set), SESSION_PAUSE_E_OFF);
		/* The first time its last window is still being written. */
		if (i)
			wait_for_output(w, 2);
		assert_int_equal(session_set_start_system(w->set, &message), 0);
		assert_ptr_equal(session_set_find(w->set, 0), s);
		assert_int_equal(s->state, SESSION_RUNNING);
	}
	samples_of(w, s->samplings[0].sampler, 10, 5, 1);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 1);
	assert_int_equal(s->counts.counted, 25);
	assert_int_equal(s->counts.windows_written, 3);
	assert_int_equal(samples_written(w, "services"), 25);
	check_ledgers(w);
}

static void test_a_paused_system_session_counts_nothing(void **state)
{
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = w->set->sessions[0];
	exec_of(w, 10, "a");
	samples_of(w, 0, 10, 10, 1);
	assert_int_equal(session_set_paused_until(w->set), 0);
	assert_int_equal(session_set_pause(w->set, UINT64_MAX), 0);
	assert_true(session_set_paused_until(w->set) == UINT64_MAX);
	wait_for_output(w, 1);
	assert_int_equal(s->counts.counted, 10);
	assert_int_equal(s->samplings[0].sampler, SESSION_NO_SAMPLER);
	assert_int_equal(session_set_resume(w->set), 0);
	assert_int_equal(session_set_paused_until(w->set), 0);
	assert_int_not_equal(s->samplings[0].sampler, SESSION_NO_SAMPLER);
	samples_of(w, s->samplings[0].sampler, 10, 5, 1);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 1);
	assert_int_equal(s->counts.counted, 15);
	assert_int_equal(samples_written(w, "services"), 15);
	check_ledgers(w);
}

/* A pause that has an end, which may be changed, or be over before. */
static void test_a_pause_ends(void **state)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), end_ns = now_ns + 600 * NS_PER_S;
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = w->set->sessions[0];
	exec_of(w, 10, "a");
	assert_int_equal(session_set_pause(w->set, UINT64_MAX), 0);
	assert_int_equal(session_set_pause(w->set, end_ns), 0);
	assert_int_equal(session_set_tick(w->set, end_ns - 1), 0);
	assert_true(session_set_paused_until(w->set) == end_ns);
	assert_int_equal(session_set_tick(w->set, end_ns), 0);
	assert_int_equal(session_set_paused_until(w->set), 0);
	samples_of(w, s->samplings[0].sampler, 10, 5, 1);
	assert_int_equal(session_set_pause(w->set, end_ns), 0);
	assert_int_equal(session_set_resume(w->set), 0);
	assert_int_equal(session_set_pause(w->set, UINT64_MAX), 0);
	assert_int_equal(session_set_tick(w->set, end_ns + 1), 0);
	assert_true(session_set_paused_until(w->set) == UINT64_MAX);
	wait_for_output(w, 1);
	assert_int_equal(s->counts.counted, 5);
	check_ledgers(w);
}

static int refuse_sampler(struct source *source, unsigned sampler, struct source_message *message)
{
	(void)source, (void)sampler;
	strcpy(message->text, "no more perf events");
	return SOURCE_E_DENIED;
}

/* A host that refuses from one moment to the next: that is said, and tried again. */
static void test_refused_later(void **state)
{
	const uint64_t minute_ns = 61 * UINT64_C(1000000000);
	struct source_message message;
	struct world *w = *state;
	const struct source_ops *before = w->source->ops;
	struct source_ops refusing = *before;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct session *system;

	refusing.add_sampler = refuse_sampler;
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_null(session_set_trouble(w->set));
	system = w->set->sessions[0];
	samples_of(w, system->samplings[0].sampler, 10, 7, 3);
	w->source->ops = &refusing;
	assert_int_equal(slow_down(w, 0, 1), 0);
	assert_string_equal(session_set_trouble(w->set), "no more perf events");
	wait_for_output(w, 1);
	assert_int_equal(system->state, SESSION_ENDED);
	assert_int_equal(session_set_tick(w->set, now_ns + minute_ns), 0);
	assert_non_null(session_set_trouble(w->set));
	w->source->ops = before;
	assert_int_equal(session_set_tick(w->set, now_ns), 0); /* not yet */
	assert_int_equal(system->state, SESSION_ENDED);
	assert_int_equal(session_set_tick(w->set, now_ns + 2 * minute_ns), 0);
	assert_int_equal(system->state, SESSION_RUNNING);
	/* At the end of a pause, too. */
	assert_int_equal(session_set_pause(w->set, now_ns + 3 * minute_ns), 0);
	w->source->ops = &refusing;
	assert_int_equal(session_set_tick(w->set, now_ns + 3 * minute_ns), 0);
	assert_int_equal(session_set_paused_until(w->set), 0);
	assert_string_equal(session_set_trouble(w->set), "no more perf events");
	w->source->ops = before;
	assert_int_equal(session_set_tick(w->set, now_ns + 5 * minute_ns), 0);
	assert_int_equal(system->state, SESSION_RUNNING);
	assert_null(session_set_trouble(w->set));
	assert_int_equal(system->samplings[0].spec.rate, 50);
	samples_of(w, system->samplings[0].sampler, 10, 5, 3);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 1);
	assert_int_equal(samples_written(w, "services"), 12);
	check_ledgers(w);

	/* Who is told to stop is not tried again. */
	w->source->ops = &refusing;
	assert_int_equal(slow_down(w, 0, 2), 0);
	assert_int_equal(session_set_stop_system(w->set), 0);
	w->source->ops = before;
	assert_null(session_set_trouble(w->set));
	assert_int_equal(session_set_tick(w->set, now_ns + 9 * minute_ns), 0);
	assert_int_equal(system->state, SESSION_ENDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD(test_a_paused_system_session_counts_nothing),
		WORLD(test_the_system_session_comes_back),
		WORLD(test_a_pause_ends),
		WORLD(test_refused_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
