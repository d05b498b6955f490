/* SPDX-License-Identifier: MIT */
/* bpf/pids.bpf.h in a namespace of its own, two below the initial one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/ingest/bpf_stubs.h"

const volatile bool pids_translated = true;

#define SPACE(i) ((struct pid_namespace *)(0x1000ull * ((i) + 1)))

/* Of one task: its process's and its own numbers in the initial namespace and in three below it. */
struct numbered {
	struct signal_struct signal;
	struct task_struct task;
	union {
		struct pid pid;
		__u8 bytes[offsetof(struct pid, numbers) + 4 * sizeof(struct upid)];
	} process, thread;
};

static void number_pid(struct pid *pid, __u32 level, const int *numbers)
{
	pid->level = level;
	for (__u32 i = 0; i <= level; i++)
		*(&pid->numbers[0] + i) = (struct upid){numbers[i], SPACE(i)};
}

static struct task_struct *make_task(struct numbered *n, __u32 level, const int *process,
				     const int *thread)
{
	*n = (struct numbered){.task = {.tgid = process[0], .pid = thread[0]}};
	number_pid(&n->process.pid, level, process);
	number_pid(&n->thread.pid, level, thread);
	n->signal.pids[PIDTYPE_TGID] = &n->process.pid;
	n->task.signal = &n->signal;
	n->task.thread_pid = &n->thread.pid;
	return &n->task;
}

static const int profd[] = {1000, 50, 7}, other[] = {2000, 60, 9, 3}, thread[] = {2001, 61, 10, 4};

static int find_profd(void **state)
{
	struct numbered n;

	(void)state;
	stubs_reset();
	current_task = make_task(&n, 2, profd, profd);
	pids_find();
	assert_int_equal(pids_level, 2);
	assert_int_equal(pids_self, 1000);
	assert_int_equal(pids_process(&n.task), 7);
	return 0;
}

static void test_visible(void **state)
{
	struct numbered n;

	(void)state;
	for (__u32 level = 2; level < 4; level++) {
		current_task = make_task(&n, level, other, thread);
		assert_int_equal(pids_process(&n.task), 9);
		assert_int_equal(pids_of(current_task), 9ull << 32 | 10);
		assert_int_equal(pids_first(&n.task), 0);
		assert_int_equal(pids_first(make_task(&n, level, other, other)), 9);
	}
}

static void test_outside(void **state)
{
	struct numbered n;

	(void)state;
	current_task = make_task(&n, 1, other, thread);
	assert_int_equal(pids_process(&n.task), 0);
	assert_int_equal(pids_of(current_task), 0);
	/* A namespace beside profd's, with the same numbers. */
	current_task = make_task(&n, 2, other, other);
	n.process.pid.numbers[0].nr = 0;
	(&n.process.pid.numbers[0] + 2)->ns = SPACE(7);
	assert_int_equal(pids_first(&n.task), 0);
	assert_int_equal(pids_of(current_task), 0);
}

static void test_waited_for(void **state)
{
	struct numbered n;

	(void)state;
	current_task = make_task(&n, 2, other, thread);
	n.task.thread_pid = NULL;
	assert_int_equal(pids_process(&n.task), 9);
	assert_int_equal(pids_of(current_task), 0);
	n.signal.pids[PIDTYPE_TGID] = NULL;
	assert_int_equal(pids_process(&n.task), 0);
}

static void test_freed(void **state)
{
	struct numbered n;
	struct task_struct *task = make_task(&n, 2, other, other);

	(void)state;
	assert_true(pids_end(task, pids_process(task)));
	n.task.thread_pid = n.signal.pids[PIDTYPE_TGID] = NULL;
	n.task.pid = 2001;
	assert_int_equal(pids_freed(task), 0);
	n.task.pid = 2000;
	assert_int_equal(pids_freed(task), 9);
	assert_int_equal(pids_freed(task), 0);
	/* No room: the caller forgets the process at once. */
	maps.ended_key = 1;
	assert_false(pids_end(task, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_visible, find_profd),
		cmocka_unit_test_setup(test_outside, find_profd),
		cmocka_unit_test_setup(test_waited_for, find_profd),
		cmocka_unit_test_setup(test_freed, find_profd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
