/* SPDX-License-Identifier: MIT */
/* Targets, windows, and the equations of what is routed and of what is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/session/session.h"
#include "tests/support/start.h"

static const struct ledgers no_ledger;

static struct process *make_process(pid_t pid, uid_t uid, const char *service, const char *comm)
{
	static uint64_t serial;
	struct process *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->n_references = 1;
	p->serial = p->life = p->stay = ++serial;
	p->pid = pid;
	p->uid = uid;
	p->uid_known = p->only_uid = true;
	assert_int_equal(process_unit_new(&p->unit, service, "", ""), 0);
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
	assert_int_equal(mappings_new(&p->mappings), 0);
	return p;
}

static struct session *make_session(Profd__Control__Start start)
{
	struct session *s;

	assert_int_equal(session_new(&s, 1, &start), SESSION_E_OK);
	s->privileged = true;
	s->samplings[0].spec.rate = 100;
	s->samplings[0].spec.event.is_clock = true;
	s->writing.labels = LABEL_THREAD;
	assert_int_equal(window_new(&s->window, &(struct moment){.monotonic_ns = 1000}, 1 << 20,
				    &no_ledger),
			 0);
	return s;
}

static int add_sample(struct session *s, struct process *p, pid_t tid, uint32_t cpu,
		      const char *comm)
{
	uint64_t frames[] = {0x1000, 0x2000, (uint64_t)tid};
	struct sample sample = {.pid = p->pid,
				.tid = tid,
				.cpu = cpu,
				.weight = 10,
				.n_frames = 3,
				.frames = frames};

	snprintf(sample.comm, sizeof(sample.comm), "%s", comm);
	return session_add(s, &sample, p);
}

static void check(struct session *s, uint64_t counted, uint64_t filtered)
{
	assert_int_equal(s->counts.counted, counted);
	assert_int_equal(s->counts.filtered, filtered);
	assert_int_equal(s->counts.routed, s->counts.counted + s->counts.filtered +
						   s->counts.dropped[DROPPED_MEMORY] +
						   s->counts.dropped[DROPPED_UNWRITTEN]);
	assert_int_equal(stack_counts_total(&s->counts.stacks), s->counts.counted);
}

static void test_targets(void **state)
{
	struct process *nginx = make_process(10, 33, "nginx.service", "nginx");
	struct process *shell = make_process(11, 1000, "user-1000", "sh");
	struct {
		Profd__Control__Start start;
		uint64_t counted; /* of the four samples below */
	} cases[] = {
		{START("", "", .target = TARGET_ALL), 4},
		{START("nginx.service", "", .target = TARGET_SERVICE), 2},
		{START("", "", .target = TARGET_UID, .number = 1000), 2},
		{START("worker", "", .target = TARGET_COMM), 1},
		{START("sh", "", .target = TARGET_COMM), 2},
		{START("0,2-3", "", .target = TARGET_CPUS), 3},
		{START("/a", "", .target = TARGET_CGROUP), 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct session *s = make_session(cases[i].start);

		assert_int_equal(add_sample(s, nginx, 10, 0, "nginx"), SESSION_E_OK);
		assert_int_equal(add_sample(s, nginx, 12, 1, "worker"), SESSION_E_OK);
		assert_int_equal(add_sample(s, shell, 11, 2, "sh"), SESSION_E_OK);
		assert_int_equal(add_sample(s, shell, 13, 3, "sh"), SESSION_E_OK);
		check(s, cases[i].counted, 4 - cases[i].counted);
		session_free(s);
	}
	process_unref(nginx);
	process_unref(shell);
}

/* The latencies of all entries of a snapshot, and whether its values are to have them. */
static uint64_t latencies_of(struct session *s, const struct window_filter *copied, bool wanted)
{
	const struct moment now = {4000, 4000};
	struct snapshot *snapshot = NULL;
	struct window_closing closing;
	const struct aggregate_entry *entries;
	uint64_t sum = 0;
	size_t n;

	assert_int_equal(session_snapshot_window(s, &now, &no_ledger, copied, &snapshot, &closing),
			 SESSION_E_OK);
	assert_int_equal(snapshot->has_latency, wanted);
	entries = aggregate_entries(snapshot->aggregate, &n);
	for (size_t i = 0; i < n; i++)
		sum += aggregate_latency(snapshot->aggregate, &entries[i]);
	snapshot_free(snapshot);
	return sum;
}

/* Of events that tell time: a clock's weights, the period of cycles at a frequency. */
static void test_latency(void **state)
{
	static const struct {
		const char *event;
		bool is_clock, is_period;
		uint64_t period_ns, sum; /* of two threads of one service and one of another */
	} rows[] = {
		{"cpu-clock", true, false, 10000000, 10 / 2 * 2 + 10},
		{"cpu-clock", true, true, 100, 10 / 2 * 2 + 10},
		{"cycles", false, false, 10000000, 10000000 / 2 * 2 + 10000000},
		{"cycles", false, true, 0, 0},
		{"page-faults", false, false, 0, 0},
	};
	struct process *a = make_process(10, 0, "a.service", "a");
	struct process *b = make_process(11, 0, "b.service", "b");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session *s = make_session(
			(Profd__Control__Start)START("", "", .target = TARGET_ALL));
		struct sampler_spec *spec = &s->samplings[0].spec;

		snprintf(spec->event.name, sizeof(spec->event.name), "%s", rows[i].event);
		spec->event.is_clock = rows[i].is_clock;
		spec->is_period = rows[i].is_period;
		s->writing.latency = true;
		assert_int_equal(session_cpu_period(s), rows[i].period_ns);
		if (rows[i].period_ns)
			assert_int_equal(window_want_latency(s->window, rows[i].period_ns, 1 << 16),
					 0);
		add_sample(s, a, 10, 0, "a");
		add_sample(s, a, 12, 1, "a");
		add_sample(s, b, 11, 0, "b");
		/* A copy of what is open leaves it as it is. */
		assert_int_equal(latencies_of(s, &(struct window_filter){0}, rows[i].period_ns), 0);
		assert_int_equal(latencies_of(s, NULL, rows[i].period_ns), rows[i].sum);
		session_free(s);
	}
	process_unref(a);
	process_unref(b);
}

static void test_cgroups_hold_what_lies_below(void **state)
{
	struct process *p = make_process(1, 0, "x", "x");
	struct session *s = make_session(
		(Profd__Control__Start)START("/system.slice/", "", .target = TARGET_CGROUP));

	(void)state;
	p->unit->cgroup = "/system.slice/a.service";
	assert_true(session_wants_process(s, p));
	p->unit->cgroup = "/system.slicex";
	assert_false(session_wants_process(s, p));
	session_free(s);
	s = make_session((Profd__Control__Start)START("/", "", .target = TARGET_CGROUP));
	assert_true(session_wants_process(s, p));
	session_free(s);
	process_unref(p);
}

static void test_a_pid_is_followed_through_exec_and_fork(void **state)
{
	struct process *target = make_process(10, 0, "x", "sh");
	struct process *exec = make_process(10, 0, "x", "prog");
	struct process *child = make_process(11, 0, "x", "prog");
	struct process *stranger = make_process(10, 0, "x", "other");

	(void)state;
	for (int children = 0; children < 2; children++) {
		struct session *s = make_session((Profd__Control__Start)START(
			"", "", .target = TARGET_PID, .number = 10, .children = children));

		s->target.process = target->serial;
		assert_int_equal(session_process_born(s, target, NULL), 0);
		assert_int_equal(session_process_born(s, exec, target), 0);
		assert_int_equal(session_process_born(s, child, exec), 0);
		assert_int_equal(session_process_born(s, stranger, NULL), 0);
		assert_true(session_wants_process(s, target));
		assert_true(session_wants_process(s, exec));
		assert_int_equal(session_wants_process(s, child), children);
		assert_false(session_wants_process(s, stranger));
		/* Dead is not enough: its last samples may be on their way. */
		target->died_ns = 5;
		session_sweep(s, 10);
		assert_true(session_wants_process(s, target));
		target->swept_ns = 5;
		session_sweep(s, 10);
		assert_false(session_wants_process(s, target));
		assert_true(session_wants_process(s, exec));
		target->died_ns = target->swept_ns = 0;
		session_free(s);
	}
	process_unref(target);
	process_unref(exec);
	process_unref(child);
	process_unref(stranger);
}

/* The unprivileged see their own, and nothing of a process whose user is only presumed. */
static void test_the_unprivileged_see_their_own(void **state)
{
	struct process *own = make_process(1, 1000, "x", "x");
	struct process *root = make_process(2, 0, "x", "x");
	struct session *s = make_session(
		(Profd__Control__Start)START("", "", .target = TARGET_ALL));

	(void)state;
	s->owner = 1000;
	s->privileged = false;
	assert_true(session_wants_process(s, own));
	assert_false(session_wants_process(s, root));
	own->uid_known = false;
	assert_false(session_wants_process(s, own));
	own->uid_known = true;
	own->only_uid = false; /* a set-id program that he started */
	assert_false(session_wants_process(s, own));
	session_free(s);
	process_unref(own);
	process_unref(root);
}

static void test_a_window_becomes_a_snapshot_and_comes_back(void **state)
{
	struct session *s = make_session(
		(Profd__Control__Start)START("", "", .target = TARGET_ALL));
	struct process *p = make_process(10, 0, "a.service", "a");
	struct ledgers ledger = {.all[0] = {.stacks.complete = 2, .seen = 2, .expected = 2}};
	struct window_closing closing;
	struct snapshot *snapshot = NULL;
	size_t n;

	(void)state;
	assert_int_equal(session_snapshot_window(s, &(struct moment){2000, 2000}, &ledger, NULL,
						 &snapshot, &closing),
			 SESSION_E_EMPTY);
	assert_int_equal(window_new(&s->window, &(struct moment){.monotonic_ns = 2000}, 1 << 20,
				    &no_ledger),
			 0);
	add_sample(s, p, 10, 0, "a");
	add_sample(s, p, 11, 0, "b");
	assert_int_equal(session_snapshot_window(s, &(struct moment){3000, 3000}, &ledger, NULL,
						 &snapshot, &closing),
			 SESSION_E_OK);
	assert_int_equal(snapshot->start_ns, 2000);
	assert_int_equal(snapshot->duration_ns, 1000);
	assert_int_equal(snapshot->period, 10000000);
	assert_int_equal(snapshot->n_processes, 1);
	assert_string_equal(snapshot->processes[0].service, "a.service");
	assert_int_equal(aggregate_count(snapshot->aggregate), 2);
	assert_non_null(strstr(snapshot->ledger, "expected=2 seen=2 complete=2"));

	/* It could not be written: the next window holds it all. */
	assert_int_equal(window_new(&s->window, &(struct moment){.monotonic_ns = 3000}, 1 << 20,
				    &ledger),
			 0);
	add_sample(s, p, 10, 0, "a");
	assert_int_equal(session_restore_window(s, snapshot, &closing), 0);
	snapshot_free(snapshot);
	snapshot = NULL;
	ledger.all[0].stacks.complete = ledger.all[0].seen = ledger.all[0].expected = 3;
	assert_int_equal(session_snapshot_window(s, &(struct moment){4000, 4000}, &ledger, NULL,
						 &snapshot, &closing),
			 SESSION_E_OK);
	assert_int_equal(snapshot->start_ns, 2000);
	assert_int_equal(snapshot->duration_ns, 2000);
	assert_int_equal(aggregate_count(snapshot->aggregate), 3);
	aggregate_entries(snapshot->aggregate, &n);
	assert_int_equal(n, 2);
	assert_non_null(strstr(snapshot->ledger, "expected=3"));
	check(s, 3, 0);
	snapshot_free(snapshot);
	session_free(s);
	process_unref(p);
}

/* What was counted in a unit stays there when the process moves; and when it comes back. */
static void test_a_process_that_moves_is_counted_where_it_was(void **state)
{
	struct session *s = make_session(
		(Profd__Control__Start)START("", "", .target = TARGET_ALL));
	struct process *p = make_process(10, 0, "a.service", "a");
	struct process_unit *a = process_unit_ref(p->unit);
	struct window_closing closing;
	struct snapshot *snapshot = NULL;
	uint64_t counts[3] = {};
	const struct aggregate_entry *entries;
	size_t n;

	(void)state;
	add_sample(s, p, 10, 0, "a");
	process_unit_unref(p->unit);
	assert_int_equal(process_unit_new(&p->unit, "b.service", "/b.service", ""), 0);
	p->stay = 1000;
	add_sample(s, p, 10, 0, "a");
	add_sample(s, p, 10, 0, "a");
	process_unit_unref(p->unit);
	p->unit = a;
	p->stay = 1001;
	add_sample(s, p, 10, 0, "a");
	assert_int_equal(session_snapshot_window(s, &(struct moment){3000, 3000}, &no_ledger, NULL,
						 &snapshot, &closing),
			 SESSION_E_OK);
	assert_int_equal(snapshot->n_processes, 3);
	entries = aggregate_entries(snapshot->aggregate, &n);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < 3; j++)
			if (entries[i].process == snapshot->processes[j].serial)
				counts[j] += entries[i].count;
	for (size_t j = 0; j < 3; j++) {
		bool is_b = snapshot->processes[j].serial == 1000;

		assert_int_equal(snapshot->processes[j].pid, 10);
		assert_int_equal(snapshot->processes[j].program_serial, p->serial);
		assert_string_equal(snapshot->processes[j].service,
				    is_b ? "b.service" : "a.service");
		assert_int_equal(counts[j], is_b ? 2 : 1);
	}
	snapshot_free(snapshot);
	session_free(s);
	process_unref(p);
}

/* A wall clock that was set to its beginning: no window begins before that, or in the far future.
 */
static void test_a_window_of_a_clock_that_was_set_back(void **state)
{
	struct session *s = make_session(
		(Profd__Control__Start)START("", "", .target = TARGET_ALL));
	struct process *p = make_process(10, 0, "a.service", "a");
	struct ledgers ledger = {.all[0] = {.stacks.complete = 1, .seen = 1, .expected = 1}};
	struct window_closing closing;
	struct snapshot *snapshot = NULL;

	(void)state;
	add_sample(s, p, 10, 0, "a");
	assert_int_equal(session_snapshot_window(s, &(struct moment){60000, 500}, &ledger, NULL,
						 &snapshot, &closing),
			 SESSION_E_OK);
	assert_int_equal(snapshot->start_ns, 0);
	assert_true(snapshot->duration_ns <= 60000);
	snapshot_free(snapshot);
	session_free(s);
	process_unref(p);
}

static void add_ended(struct session *s, struct process *p, uint64_t leaf, unsigned quality,
		      unsigned reason)
{
	uint64_t frames[] = {leaf, 0x2000};
	struct sample sample = {.pid = p->pid,
				.tid = p->pid,
				.quality = (uint16_t)quality,
				.reason = (uint16_t)reason,
				.weight = 10,
				.n_frames = 2,
				.frames = frames};

	assert_int_equal(session_add(s, &sample, p), SESSION_E_OK);
}

static uint64_t weight_of(const struct aggregate *a)
{
	const struct aggregate_entry *entries;
	uint64_t weight = 0;
	size_t n;

	entries = aggregate_entries(a, &n);
	for (size_t i = 0; i < n; i++)
		weight += entries[i].weight;
	return weight;
}

static void test_a_copy_leaves_the_window_as_it_is(void **state)
{
	struct process *a = make_process(10, 0, "a.service", "a");
	struct process *b = make_process(11, 0, "b.service", "b");
	struct session *s = make_session(
		(Profd__Control__Start)START("", "", .target = TARGET_ALL));
	struct snapshot *copy = NULL, *whole = NULL;
	struct window_closing closing;
	const struct ledgers ledger = {.all[0] = {.stacks.complete = 9, .seen = 9, .expected = 9}};
	struct window_filter filter = {.pid = 12};

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add_sample(s, a, 10, 0, "a");
	add_sample(s, a, 10, 0, "x");
	add_sample(s, b, 11, 0, "b");
	assert_int_equal(session_snapshot_window(s, &(struct moment){3000, 5000}, &ledger, &filter,
						 &copy, &closing),
			 SESSION_E_EMPTY);
	filter.pid = 10;
	assert_int_equal(session_snapshot_window(s, &(struct moment){3000, 5000}, &ledger, &filter,
						 &copy, &closing),
			 SESSION_E_OK);
	assert_int_equal(aggregate_count(copy->aggregate), 4);
	assert_int_equal(weight_of(copy->aggregate), 40);
	assert_int_equal(copy->n_processes, 1);
	assert_string_equal(copy->processes[0].service, "a.service");
	assert_int_equal(copy->start_ns, 3000);
	assert_int_equal(copy->duration_ns, 2000);
	assert_non_null(strstr(copy->ledger, "expected=9"));
	add_sample(s, a, 10, 0, "a");
	assert_int_equal(session_snapshot_window(s, &(struct moment){4000, 6000}, &ledger, NULL,
						 &whole, &closing),
			 SESSION_E_OK);
	assert_int_equal(aggregate_count(whole->aggregate), 6);
	assert_int_equal(whole->n_processes, 2);
	assert_int_equal(aggregate_count(copy->aggregate), 4);
	/* One that came back from a snapshot is copied like the others. */
	assert_int_equal(window_new(&s->window, &(struct moment){.monotonic_ns = 4000}, 1 << 20,
				    &ledger),
			 0);
	assert_int_equal(session_restore_window(s, whole, &closing), 0);
	snapshot_free(whole);
	snapshot_free(copy);
	filter.pid = 11;
	assert_int_equal(session_snapshot_window(s, &(struct moment){5000, 7000}, &ledger, &filter,
						 &copy, &closing),
			 SESSION_E_OK);
	assert_int_equal(aggregate_count(copy->aggregate), 1);
	assert_string_equal(copy->processes[0].service, "b.service");
	snapshot_free(copy);
	session_free(s);
	process_unref(a);
	process_unref(b);
}

/* How the counted stacks ended, also after some of them are lost with their window. */
static void test_stacks_are_counted_by_their_end(void **state)
{
	struct session *s = make_session(
		(Profd__Control__Start)START("", "", .target = TARGET_UID));
	struct process *p = make_process(10, 0, "a", "a"), *other = make_process(11, 7, "b", "b");
	struct window_closing closing;
	struct snapshot *snapshot;
	struct ledgers ledger = {};

	(void)state;
	add_ended(s, p, 1, STACK_COMPLETE, 0);
	add_ended(s, p, 2, STACK_BROKEN, BROKEN_RULE);
	add_ended(s, other, 1, STACK_COMPLETE, 0); /* filtered */
	check(s, 2, 1);
	assert_int_equal(session_snapshot_window(s, &(struct moment){3000, 3000}, &ledger, NULL,
						 &snapshot, &closing),
			 SESSION_E_OK);
	assert_int_equal(window_new(&s->window, &(struct moment){.monotonic_ns = 3000}, 1 << 20,
				    &ledger),
			 0);
	add_ended(s, p, 1, STACK_COMPLETE, 0);
	add_ended(s, p, 1, STACK_TRUNCATED, TRUNCATED_COPY);
	add_ended(s, p, 1, STACK_NO_USER, 0);
	check(s, 5, 1);
	assert_int_equal(s->counts.stacks.complete, 2);
	assert_int_equal(s->counts.stacks.broken[BROKEN_RULE], 1);
	assert_int_equal(s->counts.stacks.truncated[TRUNCATED_COPY], 1);
	assert_int_equal(s->counts.stacks.no_user, 1);
	session_count_unwritten(s, snapshot->aggregate);
	check(s, 3, 1);
	assert_int_equal(s->counts.stacks.complete, 1);
	assert_int_equal(s->counts.stacks.broken[BROKEN_RULE], 0);
	assert_int_equal(s->counts.dropped[DROPPED_UNWRITTEN], 2);
	snapshot_free(snapshot);
	session_free(s);
	process_unref(p);
	process_unref(other);
}

/* A window that comes back into one without room for it: what does not fit is counted no more. */
static void test_a_window_that_does_not_fit_any_more(void **state)
{
	struct session *s = make_session(
		(Profd__Control__Start)START("", "", .target = TARGET_ALL));
	struct process *p = make_process(10, 0, "a", "a");
	struct window_closing closing;
	struct snapshot *snapshot;
	struct ledgers ledger = {};
	pid_t tid = 0;

	(void)state;
	add_ended(s, p, 1, STACK_BROKEN, BROKEN_STALE);
	add_ended(s, p, 1, STACK_BROKEN, BROKEN_STALE);
	assert_int_equal(session_snapshot_window(s, &(struct moment){3000, 3000}, &ledger, NULL,
						 &snapshot, &closing),
			 SESSION_E_OK);
	assert_int_equal(window_new(&s->window, &(struct moment){.monotonic_ns = 3000}, 1 << 20,
				    &ledger),
			 0);
	while (add_sample(s, p, ++tid, 0, "a") == SESSION_E_OK)
		;
	check(s, (uint64_t)tid + 1, 0);
	assert_int_equal(session_restore_window(s, snapshot, &closing), 0);
	check(s, (uint64_t)tid - 1, 0);
	assert_int_equal(s->counts.stacks.broken[BROKEN_STALE], 0);
	assert_int_equal(s->counts.dropped[DROPPED_MEMORY], 2);
	snapshot_free(snapshot);
	session_free(s);
	process_unref(p);
}

static void test_a_full_window_refuses_without_routing(void **state)
{
	struct session *s;
	struct process *p = make_process(10, 0, "a", "a");
	pid_t tid = 0;

	(void)state;
	s = make_session((Profd__Control__Start)START("", "", .target = TARGET_ALL));
	while (add_sample(s, p, ++tid, 0, "a") == SESSION_E_OK)
		check(s, (uint64_t)tid, 0);
	check(s, (uint64_t)tid - 1, 0);
	session_drop(s, DROPPED_MEMORY);
	check(s, (uint64_t)tid - 1, 0);
	session_free(s);
	process_unref(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_cgroups_hold_what_lies_below),
		cmocka_unit_test(test_a_pid_is_followed_through_exec_and_fork),
		cmocka_unit_test(test_the_unprivileged_see_their_own),
		cmocka_unit_test(test_a_window_becomes_a_snapshot_and_comes_back),
		cmocka_unit_test(test_a_process_that_moves_is_counted_where_it_was),
		cmocka_unit_test(test_a_window_of_a_clock_that_was_set_back),
		cmocka_unit_test(test_a_copy_leaves_the_window_as_it_is),
		cmocka_unit_test(test_stacks_are_counted_by_their_end),
		cmocka_unit_test(test_a_window_that_does_not_fit_any_more),
		cmocka_unit_test(test_a_full_window_refuses_without_routing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
