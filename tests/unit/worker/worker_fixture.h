/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_WORKER_FIXTURE_H
#define PROFD_TESTS_WORKER_FIXTURE_H

/* What tests of workers have in common: each leaves no process and no fd behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/worker/worker.h"

static inline unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static inline void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

struct before {
	unsigned n_fds;
};

static inline int note_before(void **state)
{
	static struct before before;

	before.n_fds = count_fds();
	*state = &before;
	return 0;
}

static inline int check_after(void **state)
{
	struct before *before = *state;

	assert_int_equal(count_fds(), before->n_fds);
	assert_no_children();
	return 0;
}

#define WORKER_TEST(test) cmocka_unit_test_setup_teardown(test, note_before, check_after)

/* The real worker. */
static inline struct worker *new_worker(void)
{
	const struct worker_options options = {.name = "test"};
	struct worker *w = NULL;

	assert_int_equal(worker_new(&w, &options), 0);
	return w;
}

/* A hostile one. */
static inline struct worker *new_hostile(const char *mode, uint64_t deadline_ms)
{
	const struct worker_options options = {
		.path = TEST_PROGRAMS "/hostile_worker",
		.name = mode,
		.deadline_ns = deadline_ms * 1000000,
	};
	struct worker *w = NULL;

	assert_int_equal(worker_new(&w, &options), 0);
	return w;
}

static inline int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	assert_true(fd >= 0);
	return fd;
}

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void sleep_until(uint64_t at_ns)
{
	const struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000),
				    .tv_nsec = (long)(at_ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

#endif
