/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/ingest/members.h"

static struct process_event event_of(enum process_event_kind kind, pid_t pid, pid_t tid,
				     pid_t parent)
{
	return (struct process_event){.kind = kind, .pid = pid, .tid = tid, .parent = parent};
}

static void follow(struct members *m, enum process_event_kind kind, pid_t pid, pid_t tid,
		   pid_t parent)
{
	const struct process_event event = event_of(kind, pid, tid, parent);

	assert_int_equal(members_follow(m, &event), 0);
}

static bool nobody_is_alive(pid_t pid)
{
	(void)pid;
	return false;
}

static void test_inheritance(void **state)
{
	cleanup(members_deinit) struct members m = {0};

	(void)state;
	assert_int_equal(members_add(&m, 0, 10, false), 0);
	assert_int_equal(members_add(&m, 3, 10, true), 0);
	follow(&m, PROCESS_EVENT_FORK, 11, 11, 10);
	follow(&m, PROCESS_EVENT_FORK, 12, 12, 11);
	follow(&m, PROCESS_EVENT_FORK, 10, 99, 10); /* a thread */
	follow(&m, PROCESS_EVENT_FORK, 20, 20, 2);
	assert_true(members_has(&m, 0, 10) && members_has(&m, 3, 10));
	assert_false(members_has(&m, 0, 11));
	assert_true(members_has(&m, 3, 11) && members_has(&m, 3, 12));
	assert_false(members_has(&m, 3, 20) || members_has(&m, 3, 99));
	members_remove(&m, 3, 11);
	assert_false(members_has(&m, 3, 11));
	assert_true(members_has(&m, 3, 12));
	members_remove_sampler(&m, 3);
	assert_false(members_has(&m, 3, 10) || members_has(&m, 3, 12));
	assert_true(members_has(&m, 0, 10));
}

static void test_end(void **state)
{
	cleanup(members_deinit) struct members m = {0};

	(void)state;
	assert_int_equal(members_add(&m, 1, 10, true), 0);
	assert_int_equal(members_add(&m, 1, 30, true), 0);
	members_sweep(&m, nobody_is_alive);
	/* No end was seen. */
	assert_true(members_has(&m, 1, 10) && members_has(&m, 1, 30));
	follow(&m, PROCESS_EVENT_EXIT, 10, 15, 0);
	members_sweep(&m, nobody_is_alive);
	assert_true(members_has(&m, 1, 10)); /* only a thread ended */
	follow(&m, PROCESS_EVENT_EXIT, 10, 10, 0);
	assert_true(members_has(&m, 1, 10)); /* samples may still come */
	members_sweep(&m, nobody_is_alive);
	assert_false(members_has(&m, 1, 10));
	/* A pid that is in use again is another process. */
	follow(&m, PROCESS_EVENT_EXIT, 30, 30, 0);
	follow(&m, PROCESS_EVENT_FORK, 30, 30, 2);
	assert_false(members_has(&m, 1, 30));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inheritance),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
