/* SPDX-License-Identifier: MIT */
/* Users share the system session's windows: one who fills them pays for that, or loses detail. */
#include "tests/unit/session/session_set_fixture.h"

#include "daemon/control/buckets.h"

#define DEAR  UINT64_C(1000)
#define OTHER UINT64_C(1001)

static struct process *process_of(struct world *w, pid_t pid, uid_t uid)
{
	struct process *p;

	exec_of(w, pid, "a");
	assert_true(source_drain(w->source, UINT32_MAX) >= 0);
	p = process_table_living(w->processes, pid);
	p->uid = uid;
	p->uid_known = p->only_uid = true;
	return p;
}

/* One of which two users share a small window; the first of them can pay for nothing. */
static struct session *divided_session(struct world *w, struct buckets *buckets)
{
	struct source_message message;

	w->set->defaults = make_defaults(2 << 20);
	w->set->buckets = buckets;
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	process_of(w, 10, DEAR);
	process_of(w, 11, OTHER);
	return w->set->sessions[0];
}

static uint64_t cut_of(const struct session *s)
{
	return s->counts.stacks.truncated[TRUNCATED_SHARE];
}

static void test_share_is_bounded(void **state)
{
	struct buckets buckets = {.share = 1e-9};
	struct world *w = *state;
	struct session *s = divided_session(w, &buckets);
	uint64_t n = 0, cut;

	buckets_draw(&buckets, DEAR, 1000000, clock_ns(CLOCK_MONOTONIC));
	for (; n < 20000; n += 500)
		distinct_samples_of(w, 0, 10, 500, n);
	cut = cut_of(s);
	assert_true(cut > n / 2);
	/* What is known goes on as it is, what others bring too. */
	distinct_samples_of(w, 0, 10, 100, 0);
	distinct_samples_of(w, 0, 11, 300, n);
	assert_int_equal(cut_of(s), cut);
	assert_int_equal(s->counts.early_closes, 0);
	assert_int_equal(s->counts.counted, n + 400);
	assert_int_equal(session_set_flush(w->set, s, NULL), 0);
	await_all(w);
	assert_int_equal(samples_written(w, "services"), n + 400);
	check_ledgers(w);
}

/* Taken back, a window has as many of each kind as before. */
static void test_cut_counts_are_reverted(void **state)
{
	struct buckets buckets = {.share = 1e-9};
	struct world *w = *state;
	struct session *s = divided_session(w, &buckets);
	struct stack_counts counts;
	struct snapshot *snapshot;

	buckets_draw(&buckets, DEAR, 1000000, clock_ns(CLOCK_MONOTONIC));
	distinct_samples_of(w, 0, 10, 5000, 0);
	assert_true(cut_of(s) > 0);
	assert_int_equal(session_set_copy_window(w->set, s, NULL, &snapshot), 0);
	window_stack_counts(snapshot->aggregate, &counts);
	assert_memory_equal(&counts, &s->counts.stacks, sizeof(counts));
	snapshot_free(snapshot);
}

static void test_early_close_is_charged(void **state)
{
	struct buckets buckets = {.share = 1e-9};
	struct world *w = *state;
	struct session *s = divided_session(w, &buckets);
	uint64_t n = 0;

	for (; !cut_of(s); n += 500) {
		distinct_samples_of(w, 0, 10, 500, n);
		await_all(w);
	}
	assert_int_equal(s->counts.early_closes, 1);
	assert_true(buckets_wait_ns(&buckets, DEAR, clock_ns(CLOCK_MONOTONIC)));
	assert_false(buckets_wait_ns(&buckets, OTHER, clock_ns(CLOCK_MONOTONIC)));
	assert_int_equal(s->counts.counted, n);
	check_ledgers(w);
}

/* Root has all of it, and closes it early when it is full. */
static void test_root_is_not_cut(void **state)
{
	struct buckets buckets = {.share = 1e-9};
	struct world *w = *state;
	struct session *s = divided_session(w, &buckets);

	process_of(w, 12, 0);
	for (uint64_t n = 0; !s->counts.early_closes; n += 500) {
		distinct_samples_of(w, 0, 12, 500, n);
		await_all(w);
	}
	assert_int_equal(cut_of(s), 0);
	assert_false(buckets_wait_ns(&buckets, 0, clock_ns(CLOCK_MONOTONIC)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD(test_share_is_bounded),
		WORLD(test_cut_counts_are_reverted),
		WORLD(test_early_close_is_charged),
		WORLD(test_root_is_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
