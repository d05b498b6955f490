/* SPDX-License-Identifier: MIT */
/* Where processes belong, by what /proc says of them and of their parents. */
#include "tests/unit/resolve/place_fixture.h"

static void test_a_move_shows_in_the_next_samples(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC), serial, stay;
	struct process *p;

	(void)state;
	say(&w, 10, "0::/system.slice/a.service\n", 0, 0);
	p = sampled(&w, 10, 7, now);
	assert_string_equal(p->unit->service, "a.service");
	serial = p->serial;
	stay = p->stay;

	/* Its group is the same, so nobody asks; for a while. */
	say(&w, 10, "0::/system.slice/b.service\n", 0, 0);
	assert_string_equal(sampled(&w, 10, 7, now + 5 * SECOND)->unit->service, "a.service");
	/* Another group: but it was asked for just now. */
	assert_string_equal(sampled(&w, 10, 8, now + 50 * MS)->unit->service, "a.service");
	p = sampled(&w, 10, 8, now + LATER);
	assert_string_equal(p->unit->service, "b.service");
	assert_string_equal(p->unit->cgroup, "/system.slice/b.service");
	/* The same program, counted apart. */
	assert_int_equal(p->serial, serial);
	assert_true(p->stay != stay);
	stay = p->stay;
	assert_int_equal(sampled(&w, 10, 8, now + LATER + MS)->stay, stay);
	end(&w);
}

static void test_a_move_without_ids_shows_later(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	say(&w, 10, "1:name=systemd:/a.service\n0::/\n", 0, 0);
	assert_string_equal(sampled(&w, 10, 1, now)->unit->service, "a.service");
	say(&w, 10, "1:name=systemd:/b.service\n0::/\n", 0, 0);
	assert_string_equal(sampled(&w, 10, 1, now + 5 * SECOND)->unit->service, "a.service");
	assert_string_equal(sampled(&w, 10, 1, now + 60 * SECOND)->unit->service, "b.service");
	end(&w);
}

/* Threads of one process in several groups: not a question for each sample, nor a new stay. */
static void test_threads_in_several_groups(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC), stay;

	(void)state;
	say(&w, 10, "0::/a.service/leader\n", 0, 0);
	stay = sampled(&w, 10, 7, now)->stay;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(sampled(&w, 10, 7 + i % 2, now + i * 50 * MS)->stay, stay);
	end(&w);
}

static void test_children_have_the_unit_of_a_parent_that_was_never_sampled(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	say(&w, 10, "0::/a.service\n", 33, 0);
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, 0);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	happen(&w, PROCESS_EVENT_EXEC, 11, 0, now + MS);
	happen(&w, PROCESS_EVENT_EXIT, 11, 0, now + 5 * MS);
	/* Both programs of the child, which is gone. */
	assert_string_equal(sampled(&w, 11, 0, now + MS / 2)->unit->service, "a.service");
	assert_string_equal(sampled(&w, 11, 0, now + 2 * MS)->unit->service, "a.service");
	assert_ptr_equal(sampled(&w, 11, 0, now + 2 * MS)->unit,
			 process_table_living(w.table, 10)->unit);
	end(&w);
}

/* A fork is no reason to ask for a parent that was asked for. */
static void test_parents_are_asked_for_once(void **state)
{
	struct world w = begin();

	(void)state;
	say(&w, 10, "0::/a.service\n", 0, 0);
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, 0);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, 1);
	say(&w, 10, "0::/b.service\n", 0, 0);
	happen(&w, PROCESS_EVENT_FORK, 12, 10, 2);
	assert_string_equal(process_table_living(w.table, 12)->unit->service, "a.service");
	end(&w);
}

/* Groups of version 1 read as the root while a process exits. */
static void test_who_exits_stays_where_it_was(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct process *p;

	(void)state;
	say(&w, 10, "1:name=systemd:/a.service\n", 1000, 0);
	sampled(&w, 10, 0, now);
	say(&w, 10, "1:name=systemd:/\n", 1001, EXITING);
	p = sampled(&w, 10, 0, now + 60 * SECOND);
	assert_string_equal(p->unit->service, "a.service");
	assert_int_equal(p->uid, 1001);
	/* What it forks then is of the same unit. */
	happen(&w, PROCESS_EVENT_FORK, 12, 10, now);
	assert_string_equal(sampled(&w, 12, 0, now)->unit->service, "a.service");
	/* Who is really there is. */
	say(&w, 11, "1:name=systemd:/\n", 1001, 0);
	assert_string_equal(sampled(&w, 11, 0, now)->unit->service, "user-1001");
	end(&w);
}

static void test_kernel_threads_and_what_they_start(void **state)
{
	struct world w = begin();
	struct sample sample = {.pid = 2,
				.tid = 2,
				.start_ns = 10 * MS,
				.time_ns = 1,
				.kernel_thread = true,
				.comm = "kthreadd"};
	struct process *p;

	(void)state;
	assert_int_equal(process_table_find(w.table, &sample, &p), 0);
	assert_string_equal(p->unit->service, "kernel");
	happen(&w, PROCESS_EVENT_FORK, 30, 2, 10);
	assert_string_equal(sampled(&w, 30, 0, 15)->unit->service, "kernel");
	happen(&w, PROCESS_EVENT_EXEC, 30, 0, 20);
	assert_string_equal(sampled(&w, 30, 0, 25)->unit->service, "other");
	/* One that was asked for before its samples told what it is. */
	say(&w, 40, "0::/\n", 0, 0);
	happen(&w, PROCESS_EVENT_EXEC, 40, 0, 5);
	happen(&w, PROCESS_EVENT_FORK, 41, 40, 6);
	assert_string_equal(process_table_living(w.table, 40)->unit->service, "other");
	sample.pid = sample.tid = 40;
	sample.time_ns = 30;
	assert_int_equal(process_table_find(w.table, &sample, &p), 0);
	assert_string_equal(p->unit->service, "kernel");
	end(&w);
}

static void test_observers_hear_of_changes_only(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	process_table_observe(w.table,
			      &(struct process_observer){.changed = count_changed, .userdata = &w});
	say(&w, 10, "0::/a.service\n", 0, 0);
	sampled(&w, 10, 7, now);
	assert_int_equal(w.changed, 1); /* its user was unknown */
	sampled(&w, 10, 7, now + 60 * SECOND);
	assert_int_equal(w.changed, 1);
	say(&w, 10, "0::/a.service\n", 5, 0);
	sampled(&w, 10, 7, now + 120 * SECOND);
	assert_int_equal(w.changed, 2);
	say(&w, 10, "0::/b.service\n", 5, 0);
	sampled(&w, 10, 8, now + 180 * SECOND);
	assert_int_equal(w.changed, 3);
	say(&w, 10, NULL, 0, 0);
	assert_string_equal(sampled(&w, 10, 9, now + 240 * SECOND)->unit->service, "b.service");
	assert_int_equal(w.changed, 3);
	end(&w);
}

/*
 * Of users: who it is, and whether it runs as nobody else. The files of this /proc are whoever's
 * the test is, which is one more user.
 */
static void test_observers_hear_of_users(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned me = getuid();

	(void)state;
	process_table_observe(w.table,
			      &(struct process_observer){.changed = count_changed, .userdata = &w});
	/* Like what a process begins with, but told. */
	say(&w, 10, "", 0, 0);
	say_users(&w, 10, 0, 1234);
	assert_false(sampled(&w, 10, 0, now)->only_uid);
	assert_int_equal(w.changed, 1);
	say_users(&w, 10, 33, 1234); /* of no other unit */
	assert_int_equal(sampled(&w, 10, 0, now + 60 * SECOND)->uid, 33);
	assert_int_equal(w.changed, 2);
	say_users(&w, 10, me, 1234);
	sampled(&w, 10, 0, now + 120 * SECOND);
	assert_int_equal(w.changed, 3);
	say_users(&w, 10, me, me);
	assert_true(sampled(&w, 10, 0, now + 180 * SECOND)->only_uid);
	assert_int_equal(w.changed, 4);
	sampled(&w, 10, 0, now + 240 * SECOND);
	assert_int_equal(w.changed, 4);
	end(&w);
}

/* --- where the source tells moves and users --- */

/* /proc tells of the newest program of a pid. */
static void test_programs_before_the_newest_stay(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct process *before;

	(void)state;
	say(&w, 10, "0::/a.service\n", 0, 0);
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, 0);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	before = process_table_living(w.table, 11);
	happen(&w, PROCESS_EVENT_EXEC, 11, 0, now + 2 * MS);
	say(&w, 11, "0::/b.service\n", 0, 0);
	assert_ptr_equal(sampled(&w, 11, 0, now + MS), before);
	assert_string_equal(before->unit->service, "a.service");
	assert_int_equal(process_table_confirm(w.table, before), 0);
	assert_string_equal(before->unit->service, "a.service");
	assert_string_equal(sampled(&w, 11, 0, now + 3 * MS)->unit->service, "b.service");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_move_shows_in_the_next_samples),
		cmocka_unit_test(test_a_move_without_ids_shows_later),
		cmocka_unit_test(test_threads_in_several_groups),
		cmocka_unit_test(test_children_have_the_unit_of_a_parent_that_was_never_sampled),
		cmocka_unit_test(test_parents_are_asked_for_once),
		cmocka_unit_test(test_who_exits_stays_where_it_was),
		cmocka_unit_test(test_kernel_threads_and_what_they_start),
		cmocka_unit_test(test_observers_hear_of_changes_only),
		cmocka_unit_test(test_observers_hear_of_users),
		cmocka_unit_test(test_programs_before_the_newest_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
