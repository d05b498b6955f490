/* SPDX-License-Identifier: MIT */
/* What is routed arrives in files, and both ledgers close at every point. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "daemon/control/buckets.h"
#include "daemon/control/connection.h"
#include "daemon/session/session_set.h"
#include "tests/support/start.h"
#include "tests/unit/session/session_set_fixture.h"

static void test_windows_hold_what_was_routed(void **state)
{
	struct world *w = *state;
	struct source_message message;

	assert_int_equal(session_set_start_system(w->set, &message), 0);
	exec_of(w, 10, "a");
	samples_of(w, 0, 10, 300, 7);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 1);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "services"), 300);
	samples_of(w, 0, 10, 50, 3);
	assert_int_equal(session_set_stop_system(w->set), 0);
	wait_for_output(w, 1);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "services"), 350);
	assert_int_equal(w->set->sessions[0]->counts.windows_written, 2);
}

/* A session at another rate has a sampler of its own; its files lie in its own directory. */
static void test_sessions_take_their_sampler_and_their_target(void **state)
{
	const struct peer root = {.privileged = true};
	const Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 10,
						    .rate = 999);
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	exec_of(w, 10, "a");
	exec_of(w, 11, "b");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_int_not_equal(s->samplings[0].sampler, w->set->sessions[0]->samplings[0].sampler);
	samples_of(w, s->samplings[0].sampler, 10, 40, 2);
	samples_of(w, s->samplings[0].sampler, 11, 30, 2);
	samples_of(w, w->set->sessions[0]->samplings[0].sampler, 11, 20, 2);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(s->state, SESSION_STOPPING);
	assert_int_equal(s->counts.counted, 40);
	assert_int_equal(s->counts.filtered, 30);
	wait_for_output(w, 1);
	assert_int_equal(s->state, SESSION_ENDED);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "sessions"), 40);
	session_set_remove(w->set, s);
	assert_null(session_set_find(w->set, 1));
}

/* A session is its client's, whosever processes it samples. */
static void test_owners(void **state)
{
	const Profd__Control__Start of_user = START("", "", .target = TARGET_UID, .number = 1000);
	const Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 10);
	const struct peer root = {.privileged = true}, user = {.uid = 1000};
	struct session *roots, *users;
	struct source_message message;
	struct world *w = *state;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &root, &of_user, -1, &roots, &message), 0);
	assert_int_equal(session_set_start(w->set, &user, &request, -1, &users, &message), 0);
	assert_int_equal(roots->owner, 0);
	assert_true(roots->privileged);
	assert_int_equal(users->owner, 1000);
	assert_false(users->privileged);
	assert_int_equal(session_set_count_of(w->set, 0), 1);
	assert_int_equal(session_set_count_of(w->set, 1000), 1);
}

static void test_refusals(void **state)
{
	Profd__Control__Format formats[] = {PROFD__CONTROL__FORMAT__LEGACY,
					    PROFD__CONTROL__FORMAT__PPROF};
	const struct peer root = {.privileged = true};
	Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 77);
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message),
			 SESSION_START_E_REFUSED);
	assert_non_null(strstr(message.text, "77"));
	request = (Profd__Control__Start)START("", "", .target = TARGET_ALL, .formats = formats,
					       .n_formats = 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message),
			 SESSION_START_E_REFUSED);
	assert_non_null(strstr(message.text, "max_sessions"));
	assert_int_equal(s->id, 4);
	assert_int_equal(s->writing.formats, FORMAT_LEGACY | FORMAT_PPROF);
}

/* Nobody takes the places of others, nor those of the privileged. */
static void test_reserve(void **state)
{
	const struct peer root = {.privileged = true}, a = {.uid = 1000}, b = {.uid = 1001};
	const Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 10);
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &a, &request, -1, &s, &message), 0);
	assert_int_equal(session_set_start(w->set, &a, &request, -1, &s, &message),
			 SESSION_START_E_REFUSED);
	assert_non_null(strstr(message.text, "kept for others"));
	assert_int_equal(session_set_start(w->set, &b, &request, -1, &s, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message),
			 SESSION_START_E_REFUSED);
}

/* A user who may not, for a while, has full windows that drop samples instead. */
static void test_early_closes_cost(void **state)
{
	const Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 10);
	struct buckets buckets = {.share = 1e-9};
	const struct peer user = {.uid = 1000};
	struct source_message message;
	struct world *w = *state;
	struct process *p;
	struct session *s;

	w->set->defaults = make_defaults(2 << 20);
	w->set->buckets = &buckets;
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &user, &request, -1, &s, &message), 0);
	p = process_table_living(w->processes, 10);
	p->uid = 1000;
	p->uid_known = p->only_uid = true;
	for (uint64_t at = 0; !s->counts.dropped[DROPPED_MEMORY]; at += 500) {
		distinct_samples_of(w, s->samplings[0].sampler, 10, 500, at);
		wait_for_output(w, s->n_in_flight);
	}
	assert_int_equal(s->counts.early_closes, 1);
	assert_true(buckets_wait_ns(&buckets, 1000, clock_ns(CLOCK_MONOTONIC)));
	check_ledgers(w);
}

/* How many stacks there is room for in a new window of @s. */
static uint64_t stacks_of_window(struct world *w, struct session *s)
{
	static uint64_t at;
	uint64_t early = s->counts.early_closes, first;

	assert_int_equal(session_set_flush(w->set, s, NULL), 0);
	await_all(w);
	for (first = at; s->counts.early_closes == early; at += 500) {
		distinct_samples_of(w, s->samplings[0].sampler, 10, 500, at);
		if (s->counts.early_closes == early)
			await_all(w);
	}
	await_all(w);
	return at - first;
}

/* The windows of the privileged are as large as without them, those of a user shared by his own. */
static void test_users_share_their_memory(void **state)
{
	const Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 10);
	const struct peer a = {.uid = 1000}, b = {.uid = 1001};
	struct source_message message;
	struct world *w = *state;
	struct session *system, *of_a, *of_b, *other;
	uint64_t alone, of_one;
	struct process *p;

	w->set->defaults = make_defaults(8 << 20);
	w->set->defaults.max_sessions = 64;
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = w->set->sessions[0];
	alone = stacks_of_window(w, system);
	assert_int_equal(session_set_start(w->set, &a, &request, -1, &of_a, &message), 0);
	assert_int_equal(session_set_start(w->set, &b, &request, -1, &of_b, &message), 0);
	p = process_table_living(w->processes, 10);
	p->uid_known = p->only_uid = true;
	p->uid = 1000;
	of_one = stacks_of_window(w, of_a);
	assert_int_equal(of_one, alone);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(session_set_start(w->set, &b, &request, -1, &other, &message), 0);
	p->uid = 0;
	assert_int_equal(stacks_of_window(w, system), alone);
	p->uid = 1000;
	assert_int_equal(stacks_of_window(w, of_a), of_one);
	p->uid = 1001;
	assert_true(stacks_of_window(w, of_b) <= of_one / 2);
	check_ledgers(w);
}

/* A sixth of what all may have mapped. */
static void map_much(struct world *w, pid_t pid)
{
	struct process_event event = process_event_of(PROCESS_EVENT_MMAP, pid, 1000);

	event.map.path = "/bin/a";
	event.map.length = 0x1000;
	event.map.inode = 7;
	for (uint64_t i = 0; i < 4000; i++) {
		event.map.start = 0x2000 * i;
		on_event(w, &event);
	}
}

/* What ended keeps the room of what it had mapped only as long as a window counts it. */
static void test_windows_let_the_ended_go(void **state)
{
	struct session_defaults defaults = make_defaults(2 << 20);
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	w->set->defaults = defaults;
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = w->set->sessions[0];
	for (pid_t pid = 10; pid < 14; pid++) {
		exec_of(w, pid, "a");
		assert_true(source_drain(w->source, UINT32_MAX) >= 0);
		map_much(w, pid);
		distinct_samples_of(w, s->samplings[0].sampler, pid, 1, 0);
	}
	process_table_sweep(w->processes, UINT64_C(1000000000));
	assert_int_equal(session_set_tick(w->set, UINT64_C(1000000000)), 0);
	assert_int_equal(s->counts.early_closes, 0);
	for (pid_t pid = 10; pid < 14; pid++) {
		const struct process_event event = process_event_of(PROCESS_EVENT_EXIT, pid, 3000);

		on_event(w, &event);
	}
	process_table_sweep(w->processes, UINT64_C(2000000000));
	assert_int_equal(session_set_tick(w->set, UINT64_C(2000000000)), 0);
	assert_int_equal(s->counts.early_closes, 1);
	assert_int_equal(session_set_tick(w->set, UINT64_C(9000000000)), 0);
	assert_int_equal(s->counts.early_closes, 1); /* nothing is in it */
	await_all(w);
	process_table_sweep(w->processes, UINT64_C(9000000000));
	assert_false(process_table_wants_end(w->processes));
	check_ledgers(w);
}

/* Near the limit windows close early; no sample is lost as long as the output keeps up. */
static void test_full_windows_close_early(void **state)
{
	struct session_defaults defaults = make_defaults(2 << 20);
	struct source_message message;
	struct world *w = *state;
	struct session *s;
	uint64_t total = 0;

	w->set->defaults = defaults;
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = w->set->sessions[0];
	exec_of(w, 10, "a");
	while (s->counts.early_closes < 3) {
		samples_of(w, 0, 10, 500, 100000);
		distinct_samples_of(w, 0, 10, 500, total);
		total += 1000;
		if (s->n_in_flight)
			wait_for_output(w, 1);
		check_ledgers(w);
	}
	assert_int_equal(session_set_stop_system(w->set), 0);
	wait_for_output(w, s->n_in_flight);
	assert_int_equal(s->counts.counted + s->counts.dropped[DROPPED_MEMORY], total);
	assert_int_equal(samples_written(w, "services"), s->counts.counted);
}

/* Windows of @s that a disk which does not write holds up before samples are dropped. */
static uint64_t windows_held_up(struct world *w, struct session *s)
{
	const uint64_t early = s->counts.early_closes, dropped = s->counts.dropped[DROPPED_MEMORY];

	for (uint64_t at = 0; s->counts.dropped[DROPPED_MEMORY] == dropped; at += 500)
		distinct_samples_of(w, s->samplings[0].sampler, 10, 500, at);
	check_ledgers(w);
	return s->counts.early_closes - early;
}

/* The places of a second sharer, and of users' sessions, are more windows of the only one. */
static void test_full_windows_wait_for_the_disk(void **state)
{
	struct source_message message;
	struct world *w = *state;
	struct session *system;

	w->set->defaults = make_defaults(2 << 20);
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = w->set->sessions[0];
	assert_int_equal(windows_held_up(w, system), 4);
	assert_int_equal(system->n_in_flight, 4);
	/* And two changes of the rate leave room for the end. */
	for (unsigned i = 1; i <= 2; i++) {
		const unsigned halvings[N_TIERS] = {i, i};

		assert_int_equal(session_set_slow_down(w->set, halvings), 0);
		distinct_samples_of(w, system->samplings[0].sampler, 10, 10, 0);
	}
	assert_int_equal(session_set_stop_system(w->set), 0);
	assert_int_equal(system->n_in_flight, 7);
	assert_int_equal(system->counts.dropped[DROPPED_UNWRITTEN], 0);
	await_all(w);
	assert_int_equal(samples_written(w, "services"), system->counts.counted);
}

/* That place is gone when there is a second one. */
static void test_two_have_a_window_each(void **state)
{
	const Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 10);
	const struct peer root = {.privileged = true};
	struct source_message message;
	struct world *w = *state;
	struct session *system, *s;

	w->set->defaults = make_defaults(2 << 20);
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = w->set->sessions[0];
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_int_equal(windows_held_up(w, system), 1);
	await_all(w);
	assert_int_equal(session_set_stop_system(w->set), 0);
	await_all(w);
	assert_int_equal(samples_written(w, "services"), system->counts.counted);
}

static uint64_t in_flight(struct world *w)
{
	struct source_stats stats;
	struct ledger ledger;

	assert_int_equal(session_set_total(w->set, &ledger, &stats), 0);
	return ledger.in_flight;
}

/* What waits is in flight; the end of a window passes it over, the end of a session does not. */
static void test_samples_that_wait(void **state)
{
	const struct peer root = {.privileged = true};
	const Profd__Control__Start request = START("", "", .target = TARGET_PID, .number = 10);
	struct source_message message;
	struct world *w = *state;
	struct session *s, *system;

	w->set->settle = settle;
	w->set->settle_userdata = w;
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	system = w->set->sessions[0];
	assert_int_equal(s->samplings[0].sampler, system->samplings[0].sampler);
	samples_of(w, 0, 10, 5, 1);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 2);
	w->holds = true;
	samples_of(w, 0, 10, 4, 1);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	assert_int_equal(w->n_settled, 0);
	assert_int_equal(in_flight(w), 4);
	assert_int_equal(s->counts.counted, 5);
	check_ledgers(w);

	/* One of two on this sampler, then the last one. */
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(w->n_settled, 1);
	assert_int_equal(w->n_settled_last, 0);
	assert_int_equal(s->counts.counted, 9);
	assert_int_equal(system->counts.counted, 9);
	assert_int_equal(in_flight(w), 0);
	wait_for_output(w, 1);
	samples_of(w, 0, 10, 3, 1);
	assert_int_equal(session_set_stop_system(w->set), 0);
	assert_int_equal(w->n_settled, 2);
	assert_int_equal(w->n_settled_last, 1);
	assert_int_equal(system->counts.counted, 12);
	assert_int_equal(in_flight(w), 0);
	wait_for_output(w, 1);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "services"), 12);
	assert_int_equal(samples_written(w, "sessions"), 9);
}

/* As if it were on its way to who takes it, and arrived. */
static uint64_t take(struct world *w, struct session *s, bool wants_more)
{
	struct output_result *result = calloc(1, sizeof(*result));
	struct flush_item *item = calloc(1, sizeof(*item));
	struct snapshot *snapshot;
	struct stack_counts counts = {0};
	bool more;

	assert_int_equal(session_set_take_window(w->set, s, &snapshot, &more), 0);
	assert_int_equal(more, wants_more);
	if (snapshot) {
		assert_int_equal(s->n_in_flight, 1);
		window_stack_counts(snapshot->aggregate, &counts);
		item->session = s;
		result->request = item;
		assert_int_equal(session_set_take_result(steal_ptr(&result)), 0);
	} else {
		free(item);
	}
	snapshot_free(snapshot);
	free(result);
	return stack_counts_total(&counts);
}

/* As if it were a user's: root's sessions are not slowed. */
static void slow_down_session(struct world *w, struct session *s, unsigned halvings)
{
	assert_int_equal(source_drain(w->source, UINT32_MAX) < 0, 0);
	s->privileged = false;
	session_set_measure_users(w->set);
	assert_int_equal(slow_down(w, halvings, 0), 0);
	s->privileged = true;
}

/* Each sample is taken once or dropped when nobody takes it in time; none becomes a file. */
static void test_live_sessions_write_nothing(void **state)
{
	const Profd__Control__Start request = START("", "", .target = TARGET_ALL, .live = true);
	struct session_defaults defaults = make_defaults(2 << 20);
	const struct peer root = {.privileged = true};
	struct source_message message;
	struct world *w = *state;
	struct session *s;
	uint64_t first, second;

	w->set->defaults = defaults;
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	samples_of(w, s->samplings[0].sampler, 10, 40, 2);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	assert_int_equal(session_set_close_windows(w->set), 0);
	assert_int_equal(take(w, s, false), 40);
	assert_int_equal(take(w, s, false), 0);
	samples_of(w, s->samplings[0].sampler, 10, 30, 3);
	assert_int_equal(take(w, s, false), 30);
	check_ledgers(w);
	/* Ten thousand stacks: two windows are kept, the rest is dropped. */
	samples_of(w, s->samplings[0].sampler, 10, 10000, 10000);
	first = take(w, s, true);
	second = take(w, s, false);
	assert_true(first > 0 && second > first / 2 && s->counts.dropped[DROPPED_MEMORY] > 0);
	assert_int_equal(s->counts.early_closes, 0);
	assert_int_equal(first + second + s->counts.dropped[DROPPED_MEMORY], 10000);
	/* What was counted at another rate stays a window of its own. */
	samples_of(w, s->samplings[0].sampler, 10, 5, 1);
	slow_down_session(w, s, 1);
	samples_of(w, s->samplings[0].sampler, 10, 6, 1);
	assert_int_equal(source_drain(w->source, UINT32_MAX) < 0, 0);
	assert_int_equal(take(w, s, true), 5);
	assert_int_equal(take(w, s, false), 6);
	/* The last of it waits. */
	samples_of(w, s->samplings[0].sampler, 10, 7, 1);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(s->state, SESSION_STOPPING);
	assert_int_equal(session_set_tick(w->set, clock_ns(CLOCK_MONOTONIC)), 0);
	assert_false(s->untaken.is_over);
	assert_int_equal(take(w, s, false), 7);
	assert_true(s->untaken.is_over);
	assert_int_equal(s->state, SESSION_ENDED);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "sessions"), 0);
	/* It has no files to tell of. */
	assert_int_equal(session_set_tick(w->set, clock_ns(CLOCK_MONOTONIC)), 0);
	assert_null(session_set_find(w->set, 1));
}

static void test_what_nobody_takes_is_dropped(void **state)
{
	const Profd__Control__Start request = START("", "", .target = TARGET_ALL, .live = true);
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const struct peer root = {.privileged = true};
	struct source_message message;
	struct world *w = *state;
	struct snapshot *snapshot;
	struct session *s;
	bool more;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	/* More often than there is room, without anybody who takes: the oldest goes. */
	for (unsigned i = 1; i <= 3; i++) {
		samples_of(w, s->samplings[0].sampler, 10, 10 * i, 1);
		slow_down_session(w, s, i);
	}
	assert_int_equal(s->counts.dropped[DROPPED_UNWRITTEN], 10);
	assert_int_equal(s->counts.counted, 50);
	check_ledgers(w);
	/* What cannot go its way is there again. */
	assert_int_equal(session_set_take_window(w->set, s, &snapshot, &more), 0);
	assert_true(more);
	session_set_give_back(s, snapshot);
	assert_int_equal(take(w, s, true), 20);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(session_set_tick(w->set, now_ns + SESSION_UNHELD_NS / 2), 0);
	assert_int_equal(s->untaken.n, 1);
	assert_int_equal(s->state, SESSION_STOPPING);
	assert_int_equal(session_set_tick(w->set, now_ns + 2 * SESSION_UNHELD_NS), 0);
	assert_int_equal(w->set->n_sessions, 0);
	assert_int_equal(samples_written(w, "sessions"), 0);
}

static void ignore_flush(void *userdata, struct flush *flush)
{
	(void)userdata, (void)flush;
}

/* Ten samples more, and a flush; its error by now. */
static int flush_some(struct world *w, unsigned sampler)
{
	struct flush *flush;
	int error;

	assert_int_equal(flush_new(&flush, ignore_flush, NULL), 0);
	samples_of(w, sampler, 10, 10, 1);
	assert_int_equal(session_set_flush(w->set, NULL, flush), 0);
	error = flush->error;
	flush_release(flush);
	return error;
}

/* However often somebody flushes, no more than some windows of a session wait to be written. */
static void test_windows_that_wait_are_bounded(void **state)
{
	const Profd__Control__Start request = START("", "", .target = TARGET_ALL);
	const struct peer root = {.privileged = true};
	struct source_message message;
	struct world *w = *state;
	unsigned n_waiting, n = 0;
	struct session *s;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	/* The output thread may be done; its results are not taken. */
	while (!flush_some(w, s->samplings[0].sampler))
		assert_true(++n < 100);
	assert_int_equal(s->n_in_flight, n);
	assert_int_equal(window_count(s->window), 10);
	check_ledgers(w);
	/* A change of the rate ends the window; when nothing has been written, it is lost. */
	for (unsigned i = 1; i <= 3; i++) {
		samples_of(w, s->samplings[0].sampler, 10, 10, 1);
		slow_down_session(w, s, i);
	}
	n_waiting = s->n_in_flight;
	assert_int_equal(n_waiting, n + 1);
	assert_int_equal(s->counts.dropped[DROPPED_UNWRITTEN], 20);
	check_ledgers(w);
	wait_for_output(w, n_waiting);
	assert_int_equal(flush_some(w, s->samplings[0].sampler), 0);
	wait_for_output(w, 1);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(samples_written(w, "sessions"), s->counts.counted);
}

/* Nor do more than some wait for the end of a session. */
static void test_those_who_wait_are_bounded(void **state)
{
	const Profd__Control__Start request = START("", "", .target = TARGET_ALL);
	const struct peer root = {.privileged = true};
	struct source_message message;
	struct world *w = *state;
	struct session *s;
	int error = 0;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	samples_of(w, s->samplings[0].sampler, 10, 10, 1);
	for (unsigned i = 0; !error; i++) {
		struct flush *flush;

		assert_true(i < 1000);
		assert_int_equal(flush_new(&flush, ignore_flush, NULL), 0);
		assert_int_equal(session_set_stop(w->set, s, flush), 0);
		error = flush->error;
		flush_release(flush);
	}
	assert_int_equal(error, EBUSY);
	wait_for_output(w, 1);
	assert_int_equal(s->state, SESSION_ENDED);
}

/* A reply to nobody, or, until it is taken away again, to somebody. */
static struct reply *make_reply(bool is_abandoned)
{
	struct reply *reply = calloc(1, sizeof(*reply));

	assert_non_null(reply);
	reply->connection = is_abandoned ? NULL : (struct connection *)reply;
	return reply;
}

static void test_held_sessions_end_without_a_holder(void **state)
{
	Profd__Control__Start request = START("", "", .target = TARGET_ALL, .held = true);
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const struct peer root = {.privileged = true};
	struct source_message message;
	struct world *w = *state;
	struct session *held, *never, *plain;

	assert_int_equal(session_set_start(w->set, &root, &request, -1, &held, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &never, &message), 0);
	request.held = false;
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &plain, &message), 0);
	held->hold.holder = make_reply(false);
	plain->hold.holder = make_reply(true);
	assert_int_equal(session_set_tick(w->set, now_ns + 1), 0);
	assert_int_equal(never->state, SESSION_RUNNING);
	assert_int_equal(session_set_tick(w->set, now_ns + 2 * SESSION_UNHELD_NS), 0);
	assert_int_equal(held->state, SESSION_RUNNING);
	assert_int_equal(never->state, SESSION_ENDED);
	assert_int_equal(plain->state, SESSION_RUNNING);
	assert_null(plain->hold.holder);
	held->hold.holder->connection = NULL;
	assert_int_equal(session_set_tick(w->set, now_ns + 2 * SESSION_UNHELD_NS), 0);
	assert_int_equal(held->state, SESSION_ENDED);
	assert_int_equal(plain->state, SESSION_RUNNING);
	assert_int_equal(w->set->stopped.n, 2);
	assert_string_equal(w->set->stopped.all[0], "session s2 stopped: its client has gone");
	assert_string_equal(w->set->stopped.all[1], "session s1 stopped: its client has gone");
	plain->ends_ns = now_ns;
	assert_int_equal(session_set_tick(w->set, now_ns), 0);
	assert_string_equal(w->set->stopped.all[2], "session s3 stopped: its time is over");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD(test_windows_hold_what_was_routed),
		WORLD(test_sessions_take_their_sampler_and_their_target),
		WORLD(test_owners),
		WORLD(test_refusals),
		WORLD(test_reserve),
		WORLD(test_early_closes_cost),
		WORLD(test_samples_that_wait),
		WORLD(test_users_share_their_memory),
		WORLD(test_windows_let_the_ended_go),
		WORLD(test_full_windows_close_early),
		WORLD(test_full_windows_wait_for_the_disk),
		WORLD(test_two_have_a_window_each),
		WORLD(test_live_sessions_write_nothing),
		WORLD(test_what_nobody_takes_is_dropped),
		WORLD(test_windows_that_wait_are_bounded),
		WORLD(test_those_who_wait_are_bounded),
		WORLD(test_held_sessions_end_without_a_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
