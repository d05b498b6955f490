/* SPDX-License-Identifier: MIT */
/*
 * Files about processes, opened by a child, in a directory in place of /proc. A file that holds up
 * whoever opens it is a pipe that nobody writes to.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/helper/proc_child.h"
#include "common/proc.h"
#include "tests/support/leftovers.h"
#include "tests/support/temp_dir.h"

#define PATIENT_NS (100 * NS_PER_S)
#define HASTY_NS   (NS_PER_S / 100)

static struct temp_dir dir;

static int setup(void **state)
{
	(void)state;
	temp_dir_make(&dir);
	write_file(dir.fd, "7/maps", "mapped\n", 7);
	write_file(dir.fd, "7/empty", "", 0);
	assert_int_equal(symlinkat("maps", dir.fd, "7/exe"), 0);
	assert_int_equal(mkdirat(dir.fd, "8", 0700), 0);
	assert_int_equal(mkfifoat(dir.fd, "8/maps", 0600), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	temp_dir_remove(&dir);
	return 0;
}

static void expect_text(pid_t id, const char *name, const char *expected)
{
	cleanup(freep) char *text = NULL;
	size_t length;

	assert_int_equal(proc_read_file(dir.fd, id, name, &text, &length), PROC_E_OK);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
}

static int read_nothing(pid_t id, const char *name)
{
	cleanup(freep) char *text = NULL;
	size_t length;
	int r = proc_read_file(dir.fd, id, name, &text, &length);

	assert_null(text);
	return r;
}

/* Those that it left behind are not waited for by itself. */
static void end_child(struct proc_child **c)
{
	proc_child_free(*c);
	while (waitpid(-1, NULL, 0) > 0)
		;
	*c = NULL;
}

static void test_answers(void **state)
{
	cleanup(end_child) struct proc_child *c = NULL;
	cleanup(closep) int fd = -1;
	char path[PATH_MAX + 1];

	(void)state;
	assert_int_equal(proc_child_new(&c, PATIENT_NS), 0);
	expect_text(7, "maps", "mapped\n");
	expect_text(7, "empty", "");
	assert_int_equal(read_nothing(7, "none"), PROC_E_GONE);
	assert_int_equal(read_nothing(9, "maps"), PROC_E_GONE);
	assert_int_equal(proc_open_name(dir.fd, 7, "7/exe", &fd), PROC_E_OK);
	assert_true(fcntl(fd, F_GETFL) & O_PATH);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	memset(path, 'x', sizeof(path) - 1);
	path[PATH_MAX] = '\0';
	assert_int_equal(proc_open_name(dir.fd, 7, path, &fd), PROC_E_GONE);
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(proc_open_name(dir.fd, 7, path, &fd), PROC_E_GONE);
	expect_text(7, "maps", "mapped\n");
}

/* Whoever is held up, it is not us; and another process is read all the same. */
static void test_gives_up(void **state)
{
	cleanup(end_child) struct proc_child *c = NULL;
	struct stat status;

	(void)state;
	assert_int_equal(proc_child_new(&c, HASTY_NS), 0);
	assert_int_equal(read_nothing(8, "maps"), PROC_E_HELD_UP);
	assert_int_equal(read_nothing(8, "maps"), PROC_E_HELD_UP);
	end_child(&c);
	assert_int_equal(fstatat(dir.fd, "8/maps", &status, 0), 0);
	assert_int_equal(proc_child_new(&c, PATIENT_NS), 0);
	expect_text(7, "maps", "mapped\n");
}

/* Our child, by a file of the kernel's that is there since 3.5; 0: there is none. */
static pid_t find_child(void)
{
	char path[64], text[64] = "";
	cleanup(closep) int fd = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)syscall(SYS_gettid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? atoi(text) : 0;
}

static void test_is_killed(void **state)
{
	cleanup(end_child) struct proc_child *c = NULL;
	siginfo_t ended;
	pid_t pid;

	(void)state;
	assert_int_equal(proc_child_new(&c, PATIENT_NS), 0);
	expect_text(7, "maps", "mapped\n");
	pid = find_child();
	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	expect_text(7, "maps", "mapped\n");
	assert_int_not_equal(find_child(), 0);
}

/* One that waits for an answer ends with us: it has nothing of ours, not even this end. */
static void test_ends(void **state)
{
	cleanup(end_child) struct proc_child *c = NULL;
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(proc_child_new(&c, PATIENT_NS), 0);
	expect_text(7, "maps", "mapped\n");
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	end_child(&c);
	/* And this thread opens for itself again. */
	expect_text(7, "maps", "mapped\n");
}

/* What it left behind has ended, when that can end, and counts no more. */
static void test_is_not_worn_out(void **state)
{
	cleanup(end_child) struct proc_child *c = NULL;
	siginfo_t ended;

	(void)state;
	assert_int_equal(proc_child_new(&c, HASTY_NS), 0);
	for (int i = 0; i < 2 * PROC_CHILD_LEFT_MAX; i++) {
		assert_int_equal(read_nothing(8, "maps"), PROC_E_HELD_UP);
		assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
	}
	/* It may be slow: then it is asked again. */
	while (read_nothing(7, "none") == PROC_E_HELD_UP)
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_answers),         LEFTOVERS_TEST(test_gives_up),
		LEFTOVERS_TEST(test_is_killed),       LEFTOVERS_TEST(test_ends),
		LEFTOVERS_TEST(test_is_not_worn_out),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
