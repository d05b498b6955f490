/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/run/perf_maps.h"

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

static void test_find(void **state)
{
	struct perf_maps *p;
	struct stat st;

	(void)state;
	assert_int_equal(perf_maps_new(&p, dir, START_S * UINT64_C(1000000000)), 0);
	make(7, START_S + 5);
	make(8, START_S - 5);
	assert_int_equal(stat(path_of(7), &st), 0);
	assert_true(perf_maps_open(p, 7));
	assert_int_equal(perf_maps_add(p, 3), 0);
	assert_int_equal(perf_maps_add(p, 5), 0);
	/* Gone as soon as it was told of, one of an older process, none, and somebody else's. */
	unlink(path_of(7));
	assert_false(perf_maps_open(p, 8));
	assert_false(perf_maps_open(p, 9));
	assert_int_equal(symlink("/etc/passwd", path_of(10)), 0);
	assert_false(perf_maps_open(p, 10));
	assert_int_equal(mkfifo(path_of(11), 0600), 0);
	assert_false(perf_maps_open(p, 11));
	assert_int_equal(inode_of(perf_maps_find(p, 3)), st.st_ino);
	assert_int_equal(inode_of(perf_maps_find(p, 5)), st.st_ino);
	for (uint32_t mapping = 0; mapping < 12; mapping++)
		if (mapping != 3 && mapping != 5)
			assert_int_equal(perf_maps_find(p, mapping), -1);
	perf_maps_free(p);
	perf_maps_free(NULL);
}

/* Descriptors are not for files alone. */
static void test_many(void **state)
{
	struct perf_maps *p;
	unsigned n = 0;

	(void)state;
	assert_int_equal(perf_maps_new(&p, dir, START_S * UINT64_C(1000000000)), 0);
	for (int pid = 100; pid < 180; pid++) {
		make(pid, START_S);
		if (!perf_maps_open(p, pid))
			continue;
		n++;
		for (uint32_t i = 0; i < 2; i++)
			assert_int_equal(perf_maps_add(p, (uint32_t)pid * 2 + i), 0);
		assert_int_equal(perf_maps_find(p, (uint32_t)pid * 2),
				 perf_maps_find(p, (uint32_t)pid * 2 + 1));
	}
	assert_int_equal(n, 64);
	assert_true(perf_maps_find(p, 200) >= 0);
	assert_int_equal(perf_maps_find(p, 200 + 2 * 64), -1);
	perf_maps_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_find, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
