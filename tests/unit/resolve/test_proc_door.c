/* SPDX-License-Identifier: MIT */
/* The child that reads /proc/PID, when somebody kills it: that says nothing of the process. */
#include <fcntl.h>

#include "common/proc.h"
#include "daemon/resolve/proc_door.h"
#include "tests/unit/resolve/keeper_fixture.h"

static void test_a_killed_keeper_hides_no_process(void **state)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(proc_door_freep) struct proc_door *door = NULL;
	pid_t keeper, servant, held_up[PROC_DOOR_NAMED_MAX];
	struct proc_stat stat;

	(void)state;
	assert_int_equal(proc_door_new(&door, proc_fd), 0);
	assert_int_equal(proc_read_stat(proc_fd, getpid(), &stat), PROC_E_OK);
	keeper = child_of(getpid(), 0);
	servant = servant_of(keeper, 0);
	make(keeper, SIGKILL, 'Z');
	await_end(servant);
	assert_int_equal(proc_read_stat(proc_fd, getpid(), &stat), PROC_E_OK);
	assert_int_not_equal(child_of(getpid(), 0), keeper);
	assert_int_equal(proc_door_held_up(door, held_up), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_killed_keeper_hides_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
