/* SPDX-License-Identifier: MIT */
/*
 * The child that reads /proc/PID: all that is opened there, and when somebody kills it, which says
 * nothing of the process. A pipe that nobody writes to is a file that has its reader wait.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/proc.h"
#include "daemon/resolve/proc_door.h"
#include "tests/support/temp_dir.h"
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

/* Were one of them opened here, this would never end. */
static void test_no_file_is_opened_here(void **state)
{
	static const char *const names[] = {"status", "cgroup", "mountinfo",
					    "comm",   "stat",   "maps"};
	cleanup(proc_door_freep) struct proc_door *door = NULL;
	struct proc_status status;
	struct temp_dir dir;
	char path[32];

	(void)state;
	temp_dir_make(&dir);
	assert_int_equal(mkdirat(dir.fd, "7", 0700), 0);
	assert_int_equal(proc_door_new(&door, dir.fd), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup(freep) char *text = NULL;
		size_t length;

		snprintf(path, sizeof(path), "7/%s", names[i]);
		assert_int_equal(mkfifoat(dir.fd, path, 0600), 0);
		assert_int_equal(proc_read_file(dir.fd, 7, names[i], &text, &length), PROC_E_GONE);
	}
	assert_int_equal(proc_read_status(dir.fd, 7, &status), PROC_E_GONE);
	temp_dir_remove(&dir);
}

static int note_thread(void *userdata, int dir_fd, pid_t tid)
{
	struct proc_stat stat;

	assert_int_equal(proc_read_stat(dir_fd, tid, &stat), PROC_E_OK);
	*(unsigned *)userdata += tid == getpid();
	return 0;
}

/* By the child as without it. */
static void test_threads(void **state)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(proc_door_freep) struct proc_door *door = NULL;
	struct proc_status before, status;
	unsigned n = 0;

	(void)state;
	assert_int_equal(proc_each_thread(proc_fd, getpid(), note_thread, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(proc_read_status(proc_fd, getpid(), &before), PROC_E_OK);
	assert_int_equal(proc_door_new(&door, proc_fd), 0);
	assert_int_equal(proc_each_thread(proc_fd, getpid(), note_thread, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(proc_each_thread(proc_fd, INT_MAX, note_thread, &n), PROC_E_GONE);
	assert_int_equal(proc_read_status(proc_fd, getpid(), &status), PROC_E_OK);
	assert_memory_equal(&status, &before, sizeof(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_killed_keeper_hides_no_process),
		cmocka_unit_test(test_no_file_is_opened_here),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
