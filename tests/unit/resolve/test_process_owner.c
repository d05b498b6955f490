/* SPDX-License-Identifier: MIT */
/* Whose processes are, by samples and records alone, so that few are asked for. */
#include "tests/unit/resolve/place_fixture.h"

static struct process *sampled_of_in(struct world *w, pid_t pid, uid_t uid, bool only,
				     uint64_t group)
{
	const struct sample sample = {.pid = pid,
				      .tid = pid,
				      .start_ns = 10 * MS,
				      .time_ns = clock_ns(CLOCK_MONOTONIC) + SOON,
				      .owner_known = true,
				      .uid = uid,
				      .only_uid = only,
				      .cgroup_id = group};
	struct process *p = NULL;

	assert_int_equal(process_table_find(w->table, &sample, &p), 0);
	return p;
}

static struct process *sampled_of(struct world *w, pid_t pid, uid_t uid, bool only)
{
	return sampled_of_in(w, pid, uid, only, 7);
}

static struct world begin_with_lives(void)
{
	struct world w = begin();

	process_table_trust_lives(w.table);
	say(&w, 10, "0::/manager.service\n", 0, 0);
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, 0);
	return w;
}

/* Not even its first sample, or its first child, has /proc asked: it is where its parent was. */
static void test_a_family_is_asked_once(void **state)
{
	struct world w = begin_with_lives();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	happen(&w, PROCESS_EVENT_EXEC, 11, 0, now + MS);
	say(&w, 11, "0::/elsewhere.service\n", 0, 0);
	assert_string_equal(sampled_of(&w, 11, 0, true)->unit->service, "manager.service");
	happen(&w, PROCESS_EVENT_FORK, 12, 11, now + 2 * MS);
	say(&w, 12, "0::/elsewhere.service\n", 0, 0);
	assert_string_equal(sampled_of(&w, 12, 0, true)->unit->service, "manager.service");
	/* It moves, and its children are where it is then. */
	happen(&w, PROCESS_EVENT_MOVED, 11, 0, now + 3 * MS);
	happen(&w, PROCESS_EVENT_FORK, 13, 11, now + 4 * MS);
	assert_string_equal(sampled_of(&w, 11, 0, true)->unit->service, "elsewhere.service");
	assert_string_equal(sampled_of(&w, 13, 0, true)->unit->service, "elsewhere.service");
	/* Who came and went is nobody's business. */
	happen(&w, PROCESS_EVENT_MOVED, 99, 0, now + 5 * MS);
	end(&w);
}

/* What may have changed without a record is asked of one of a family, not of each. */
static void test_a_family_is_asked_again_once(void **state)
{
	struct world w = begin_with_lives();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct process *parent = process_table_living(w.table, 10);

	(void)state;
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	say(&w, 11, "0::/manager.service\n", 0, 0);
	say(&w, 12, "0::/elsewhere.service\n", 0, 0);
	/* As if that had been long ago. */
	parent->asked_ns = parent->unit->asked_ns = 1;
	process_table_living(w.table, 11)->asked_ns = 1;
	happen(&w, PROCESS_EVENT_FORK, 12, 10, now);
	sampled_of(&w, 11, 0, true);
	assert_string_equal(sampled_of(&w, 12, 0, true)->unit->service, "manager.service");
	parent->unit->asked_ns = 1;
	assert_string_equal(sampled_of(&w, 12, 0, true)->unit->service, "elsewhere.service");
	end(&w);
}

static void test_samples_tell_the_owner(void **state)
{
	struct world w = begin_with_lives();
	struct process_observer observer = {.changed = count_changed, .userdata = &w};
	struct process *p;

	(void)state;
	process_table_observe(w.table, &observer);
	p = sampled_of(&w, 10, 0, true);
	assert_true(p->uid_known && p->only_uid);
	assert_true(w.changed >= 1);
	w.changed = 0;
	/* /proc says otherwise, and is not asked. */
	say_users(&w, 10, 33, 0);
	assert_int_equal(sampled_of(&w, 10, 0, true)->uid, 0);
	assert_int_equal(w.changed, 0);
	/* He may not look into it any more: whatever /proc had said. */
	assert_false(sampled_of(&w, 10, 0, false)->only_uid);
	assert_int_equal(w.changed, 1);
	/* What has no unit is its user's. */
	say(&w, 10, "0::/\n", 1001, 0);
	assert_string_equal(sampled_of_in(&w, 10, 1001, true, 9)->unit->service, "user-1001");
	/* A set-id program begins as nobody's. */
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, clock_ns(CLOCK_MONOTONIC));
	assert_false(process_table_living(w.table, 10)->uid_known);
	assert_false(process_table_living(w.table, 10)->only_uid);
	end(&w);
}

static void begun(struct world *w, pid_t pid, uid_t uid, uint64_t time_ns)
{
	const struct process_event event = {.kind = PROCESS_EVENT_BEGUN,
					    .time_ns = time_ns,
					    .pid = pid,
					    .tid = pid,
					    .owner_known = true,
					    .only_uid = true,
					    .uid = uid};

	assert_int_equal(process_table_apply(w->table, &event), 0);
}

static void moved(struct world *w, pid_t pid, uint64_t group)
{
	const struct process_event event = {.kind = PROCESS_EVENT_MOVED,
					    .time_ns = clock_ns(CLOCK_MONOTONIC),
					    .pid = pid,
					    .tid = pid,
					    .cgroup_id = group};

	assert_int_equal(process_table_apply(w->table, &event), 0);
}

/* /proc says otherwise, and is not asked; but where the user may be the unit's name. */
static void test_records_tell_the_owner_of_a_program(void **state)
{
	struct world w = begin_with_lives();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct process *p;

	(void)state;
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	say(&w, 11, "0::/elsewhere.service\n", 33, 0);
	happen(&w, PROCESS_EVENT_EXEC, 11, 0, now + 2 * MS);
	p = process_table_living(w.table, 11);
	begun(&w, 11, 44, now + MS); /* of the program before */
	assert_false(p->uid_known);
	begun(&w, 11, 0, now + 3 * MS);
	assert_true(p->uid_known && p->only_uid);
	assert_int_equal(p->uid, 0);
	assert_int_equal(process_table_confirm(w.table, p), 0);
	assert_int_equal(p->uid, 0);
	assert_string_equal(p->unit->service, "manager.service");
	begun(&w, 11, 44, now + 4 * MS);
	assert_int_equal(process_table_confirm(w.table, p), 0);
	assert_int_equal(p->uid, 44);
	assert_string_equal(p->unit->service, "elsewhere.service");
	begun(&w, 99, 0, now);
	end(&w);
}

/* The services of who moves into group 8, where another was, before and after a first sample. */
static void move_to_group_8(const char *others, const char *expected[2])
{
	struct world w = begin_with_lives();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	char text[128];

	snprintf(text, sizeof(text), "0::/manager.service\n%s", others);
	say(&w, 10, text, 0, 0);
	snprintf(text, sizeof(text), "0::/inside.service\n%s", others);
	say(&w, 20, text, 0, 0);
	sampled(&w, 20, 8, now);
	sampled(&w, 20, 8, now + SOON);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	say(&w, 11, "0::/elsewhere.service\n", 0, 0);
	process_table_living(w.table, 11)->root_id = 5;
	moved(&w, 11, 8);
	assert_string_equal(process_table_living(w.table, 11)->unit->service, expected[0]);
	assert_int_equal(process_table_living(w.table, 11)->root_id, 0);
	assert_string_equal(sampled_of(&w, 11, 0, true)->unit->service, expected[1]);
	moved(&w, 11, 9);
	assert_string_equal(sampled_of(&w, 11, 0, true)->unit->service, "elsewhere.service");
	end(&w);
}

static void test_who_moves_into_a_known_group_is_not_asked(void **state)
{
	(void)state;
	move_to_group_8("", (const char *[]){"inside.service", "inside.service"});
	move_to_group_8("1:cpu:/\n", (const char *[]){"manager.service", "elsewhere.service"});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_family_is_asked_once),
		cmocka_unit_test(test_a_family_is_asked_again_once),
		cmocka_unit_test(test_samples_tell_the_owner),
		cmocka_unit_test(test_records_tell_the_owner_of_a_program),
		cmocka_unit_test(test_who_moves_into_a_known_group_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
