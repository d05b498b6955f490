/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_WORKER_FIXTURE_H
#define PROFD_TESTS_WORKER_FIXTURE_H

/* What tests of workers have in common: each leaves no process and no fd behind. */
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
#include "tests/support/leftovers.h"

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
