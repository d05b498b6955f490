/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/run/gather.h"

#define START_S 1000000

static char dir[64];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/profd-perf-maps-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static char *path_of(int pid)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/perf-%d.map", dir, pid);
	return path;
}

static int teardown(void **state)
{
	(void)state;
	for (int pid = 1; pid < 200; pid++)
		unlink(path_of(pid));
	return rmdir(dir);
}

static void make(int pid, time_t written_s)
{
	const struct timespec times[] = {{.tv_sec = written_s}, {.tv_sec = written_s}};
	int fd = open(path_of(pid), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static bool is_opened(int pid)
{
	int fd = gather_open_perf_map(dir, pid, START_S * UINT64_C(1000000000));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_open(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	make(7, START_S + 5);
	make(8, START_S - 5);
	assert_int_equal(stat(path_of(7), &st), 0);
	fd = gather_open_perf_map(dir, 7, START_S * UINT64_C(1000000000));
	assert_true(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(inode_of(fd), st.st_ino);
	close(fd);
	/* One of an older process, none, and what is no file, or somebody else's. */
	assert_false(is_opened(8));
	assert_false(is_opened(9));
	assert_int_equal(symlink("/etc/passwd", path_of(10)), 0);
	assert_false(is_opened(10));
	assert_int_equal(mkfifo(path_of(11), 0600), 0);
	assert_false(is_opened(11));
	make(12, START_S);
	assert_true(is_opened(12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_open, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
