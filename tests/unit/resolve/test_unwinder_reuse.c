/* SPDX-License-Identifier: MIT */
/*
 * When the room that mappings had is given to others: not while a walk may go by them, nor while a
 * root names them that could not be withdrawn or that nobody knows of.
 */
#include "tests/unit/resolve/spaces_fixture.h"

/*
 * What nobody needed any more before this is used again after it: a round that dates it, one that
 * knows of all births up to then, one that knows that no root is left; and the time of a walk.
 */
static void rest(struct host *h)
{
	for (unsigned i = 0; i < 3; i++)
		drain(h);
	h->now += SECOND;
}

/* Another program, of two mappings as well, that is given memory now; its first mapping. */
static uint32_t first_of_another(struct host *h, pid_t pid)
{
	program(h, pid);
	drain(h);
	assert_non_null(root_of(h->f, pid));
	return root_of(h->f, pid)->first;
}

/* A run may be used again only after a second, in which no walk is left in it. */
static void test_runs_rest(void **state)
{
	struct host *h = *state;
	struct unwind_mapping before[2];
	uint32_t first;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	memcpy(before, &h->f->host.mappings[first], sizeof(before));
	exit_of(h, 5);
	exec_of(h, 6);
	map_of(h, 6, 1, 2, 99);
	drain(h);
	assert_int_not_equal(root_of(h->f, 6)->first, first);
	assert_memory_equal(before, &h->f->host.mappings[first], sizeof(before));
	rest(h);
	program(h, 7);
	drain(h);
	assert_int_equal(root_of(h->f, 7)->first, first);
}

/* Nobody knows that somebody has a share in what went back: it rests until all are known again. */
static void test_after_losses_nothing_is_used_again(void **state)
{
	struct host *h = *state;
	uint32_t first;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	exit_of(h, 5);
	send(h, (struct process_event){.kind = PROCESS_EVENT_LOST, .lost = 1});
	for (pid_t pid = 6; pid < 10; pid++) {
		rest(h);
		assert_int_not_equal(first_of_another(h, pid), first);
	}
	assert_int_equal(process_table_scan(h->f->processes, unwinder_sink(h->f->unwinder)), 0);
	/* The first of these rounds replaces roots that may name anything. */
	drain(h);
	drain(h);
	h->now += SECOND;
	assert_int_not_equal(first_of_another(h, 10), first);
	rest(h);
	assert_int_equal(first_of_another(h, 11), first);
}

static void test_a_host_without_room(void **state)
{
	struct host *h = *state;

	h->f->host_answer = UNWIND_HOST_E_FULL;
	program(h, 5);
	drain(h);
	assert_null(root_of(h->f, 5));
	assert_int_equal(stats_of(h->f).mapping_table_full, 1);
	h->f->host_answer = 0;
	sample_of(h, 5, 0, 0);
	drain(h);
	assert_non_null(root_of(h->f, 5));
	/* More mappings than the array has. */
	for (pid_t pid = 20; pid < 20 + 64; pid++) {
		exec_of(h, pid);
		for (unsigned i = 0; i < 100; i++)
			map_of(h, pid, i * 2, 1, 20 + i % 3);
	}
	drain(h);
	assert_true(stats_of(h->f).mapping_table_full > 1);
	assert_non_null(root_of(h->f, 20));
	assert_null(root_of(h->f, 83));
	/* The first ones end: there is room again, after a rest. */
	for (pid_t pid = 20; pid < 40; pid++)
		exit_of(h, pid);
	rest(h);
	sample_of(h, 83, 0, 0);
	drain(h);
	assert_non_null(root_of(h->f, 83));
}

/* Where the kernel's side does that at a process's end, nothing is withdrawn; else it is. */
static void test_what_ends_loses_its_root(void **state)
{
	struct host *h = *state;
	unsigned n;

	program(h, 5);
	drain(h);
	fork_of(h, 5, 6);
	fork_of(h, 5, 7);
	drain(h);
	assert_non_null(root_of(h->f, 6));
	n = h->f->n_withdraw;
	exit_of(h, 6);
	drain(h);
	assert_int_equal(h->f->n_withdraw, n + 1);
	h->f->host.removes_ended = true;
	exit_of(h, 7);
	drain(h);
	assert_int_equal(h->f->n_withdraw, n + 1);
	/* One that execs has an end to its root all the same. */
	map_of(h, 5, 102, 2, 77);
	drain(h);
	assert_null(root_of(h->f, 5));
}

/* A root that cannot be withdrawn is tried again, and what it names rests until it is gone. */
static void test_a_stuck_root_of_a_dead_process(void **state)
{
	struct host *h = *state;
	uint32_t first;
	unsigned n;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	h->f->n_withdraw_full = UINT32_MAX;
	exit_of(h, 5);
	for (unsigned i = 0; i < 5; i++) {
		n = h->f->n_withdraw;
		later(h, 2);
		assert_int_equal(h->f->n_withdraw, n + 1);
		process_table_sweep(h->f->processes, h->now);
		assert_int_equal(unwinder_sweep(h->f->unwinder, h->now), 0);
		assert_int_not_equal(first_of_another(h, 6), first);
	}
	h->f->n_withdraw_full = 0;
	drain(h);
	assert_null(root_of(h->f, 5));
	/* Walks by it may go on for a second. */
	assert_int_not_equal(first_of_another(h, 7), first);
	n = h->f->n_withdraw;
	rest(h);
	assert_int_equal(h->f->n_withdraw, n);
	assert_int_equal(first_of_another(h, 8), first);
}

/* Nor is the slot of a table that such a root leads to, however long nobody needed it. */
static void test_a_stuck_root_keeps_its_slots(void **state)
{
	struct host *h = *state;
	uint32_t slots[2];

	program(h, 5);
	drain(h);
	for (unsigned i = 0; i < 2; i++)
		slots[i] = mapping_of(h, 5, i)->slot;
	h->f->n_withdraw_full = UINT32_MAX;
	exit_of(h, 5);
	for (unsigned i = 0; i < 5; i++) {
		later(h, 3600);
		process_table_sweep(h->f->processes, h->now);
		assert_int_equal(unwinder_sweep(h->f->unwinder, h->now), 0);
	}
	for (unsigned i = 0; i < 8; i++) {
		exec_of(h, 6 + (pid_t)i);
		map_of(h, 6 + (pid_t)i, 0, 4, 40 + i);
		drain(h);
		assert_int_not_equal(mapping_of(h, 6 + (pid_t)i, 0)->slot, slots[0]);
		assert_int_not_equal(mapping_of(h, 6 + (pid_t)i, 0)->slot, slots[1]);
	}
}

static void test_a_stuck_root_whose_pid_is_used_again(void **state)
{
	struct host *h = *state;
	uint32_t first;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	h->f->n_withdraw_full = UINT32_MAX;
	exit_of(h, 5);
	later(h, 2);
	assert_non_null(root_of(h->f, 5));
	/* Replaced by the next process's: nothing is to be withdrawn any more. */
	assert_int_not_equal(first_of_another(h, 5), first);
	rest(h);
	h->f->n_withdraw_full = 0;
	assert_non_null(root_of(h->f, 5));
	assert_int_equal(first_of_another(h, 6), first);
	exit_of(h, 5);
	exit_of(h, 6);
	drain(h);
	assert_int_equal(h->f->n_roots, 0);
}

static void test_a_stuck_root_of_the_living(void **state)
{
	struct host *h = *state;
	uint32_t first;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	h->f->n_withdraw_full = 4;
	map_of(h, 5, 102, 2, 77);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(root_of(h->f, 5)->first, first);
		assert_int_not_equal(first_of_another(h, 6), first);
	}
	drain(h);
	assert_null(root_of(h->f, 5));
	/* Nor can it be replaced, while the hash has no room. */
	later(h, 12);
	sample_of(h, 5, 0, 0);
	drain(h);
	first = root_of(h->f, 5)->first;
	map_of(h, 5, 200, 1, 13);
	h->f->host_answer = UNWIND_HOST_E_FULL;
	h->f->n_withdraw_full = 2;
	later(h, 2);
	later(h, 2);
	assert_int_equal(root_of(h->f, 5)->first, first);
	h->f->host_answer = 0;
	later(h, 2);
	assert_int_equal(root_of(h->f, 5)->n, 5);
}

/* It was born with a run that its parent has given back by the time that its birth is told. */
static void test_a_stuck_root_of_a_late_child(void **state)
{
	struct host *h = *state;
	uint32_t first;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	h->is_late = true;
	fork_of(h, 5, 9);
	h->is_late = false;
	map_of(h, 5, 102, 2, 77);
	assert_null(root_of(h->f, 5));
	h->f->n_withdraw_full = 1;
	/* A slow drain; others come first in it. */
	program(h, 6);
	h->now += 3 * SECOND;
	drain(h);
	assert_int_equal(root_of(h->f, 9)->first, first);
	assert_int_not_equal(root_of(h->f, 6)->first, first);
	drain(h);
	assert_null(root_of(h->f, 9));
	assert_int_not_equal(first_of_another(h, 7), first);
	rest(h);
	assert_int_equal(first_of_another(h, 8), first);
}

static void hold_up(struct host *h)
{
	h->meanwhile = NULL;
	program(h, 6);
	fork_of(h, 5, 9);
	h->now += 3 * SECOND;
}

/*
 * What was replaced is read of seconds later, and only then withdrawn: until then children are born
 * with it, of which the drain that tells of it knows nothing.
 */
static void test_a_late_drain(void **state)
{
	struct host *h = *state;
	uint32_t first;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	h->is_late = true;
	map_of(h, 5, 102, 2, 77);
	h->now += 2 * SECOND;
	h->meanwhile = hold_up;
	drain(h);
	assert_null(root_of(h->f, 5));
	assert_int_equal(root_of(h->f, 9)->first, first);
	/* The other program is the first in it. */
	drain(h);
	assert_int_not_equal(root_of(h->f, 6)->first, first);
	assert_null(root_of(h->f, 9));
	/* Nor while a walk of the child may go on. */
	h->now += SECOND / 2;
	assert_int_not_equal(first_of_another(h, 7), first);
	rest(h);
	h->is_late = false;
	assert_int_equal(first_of_another(h, 8), first);
}

/* Each generation has another child when the drain that tells of it has begun already. */
static void bear_another(struct host *h)
{
	pid_t parent = 9;

	h->meanwhile = NULL;
	while (h->f->changed[parent + 1])
		parent++;
	program(h, 40 + parent);
	fork_of(h, parent, parent + 1);
	h->now += SECOND;
}

/* What nobody should need any more is handed down, a second's walks apart. */
static void test_children_of_late_children(void **state)
{
	struct host *h = *state;
	uint32_t first;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	h->is_late = true;
	map_of(h, 5, 102, 2, 77);
	h->now += 2 * SECOND;
	h->meanwhile = hold_up;
	drain(h);
	for (pid_t child = 9; child < 16; child++) {
		assert_int_equal(root_of(h->f, child)->first, first);
		h->now += SECOND;
		h->meanwhile = bear_another;
		drain(h);
		/* Once more, knowing no more. */
		assert_int_equal(unwinder_after_drain(h->f->unwinder, h->now), 0);
		assert_int_not_equal(root_of(h->f, child == 9 ? 6 : 40 + child - 1)->first, first);
		check_mappings_of_roots(h->f);
	}
}

/* As many mappings as make 40 such processes fill the array. */
static void big_program(struct host *h, pid_t pid)
{
	exec_of(h, pid);
	for (unsigned i = 0; i < 100; i++)
		map_of(h, pid, i * 2, 1, 20 + i % 3);
}

/* Those that are sampled get the room of those that were not for the longest time. */
static void test_sampled_ones_get_room(void **state)
{
	struct host *h = *state;
	uint64_t n_evicted;

	big_program(h, 20);
	sample_of(h, 20, 0, 0);
	drain(h);
	for (pid_t pid = 21; pid < 64; pid++)
		big_program(h, pid);
	drain(h);
	assert_null(root_of(h->f, 63));
	assert_int_equal(stats_of(h->f).mapping_table_evicted, 0);
	sample_of(h, 20, 0, h->f->until_ns); /* the oldest is not idle */
	sample_of(h, 63, 0, 0);
	drain(h);
	n_evicted = stats_of(h->f).mapping_table_evicted;
	assert_in_range(n_evicted, 1, 8);
	assert_null(root_of(h->f, 63)); /* what they had must rest */
	sample_of(h, 63, 0, 0);
	drain(h);
	assert_int_equal(stats_of(h->f).mapping_table_evicted, n_evicted);
	rest(h);
	sample_of(h, 63, 0, 0);
	drain(h);
	assert_non_null(root_of(h->f, 63));
	assert_non_null(root_of(h->f, 20));
	assert_null(root_of(h->f, 21));
	assert_non_null(root_of(h->f, 20 + (pid_t)n_evicted + 1));
	assert_int_equal(stats_of(h->f).mapping_table_evicted, n_evicted);
	/* For one that would not leave an eighth, nobody goes. */
	exec_of(h, 70);
	for (unsigned i = 0; i < HOST_MAPS; i++)
		map_of(h, 70, i * 2, 1, 20);
	sample_of(h, 70, 0, 0);
	drain(h);
	assert_null(root_of(h->f, 70));
	assert_int_equal(stats_of(h->f).mapping_table_evicted, n_evicted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_runs_rest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_ends_loses_its_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_after_losses_nothing_is_used_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_host_without_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_stuck_root_of_a_dead_process, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_stuck_root_keeps_its_slots, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_stuck_root_whose_pid_is_used_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_stuck_root_of_the_living, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_stuck_root_of_a_late_child, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_late_drain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_children_of_late_children, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sampled_ones_get_room, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
