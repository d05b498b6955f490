/* SPDX-License-Identifier: MIT */
/* The CPU time of children: while they live, when they have ended, and for good. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/pace.h"

#define BURNT 0.05

/* A child that uses BURNT seconds of CPU, by its own clock, says so and waits to be killed. */
static pid_t burn(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the test may fail before it ends us */
		while ((double)clock() / CLOCKS_PER_SEC < BURNT)
			continue;
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void finish(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_living_and_dead(void **state)
{
	double before = pace_children_seconds(NULL, 0), living, dead;
	pid_t pids[] = {burn(), 0, burn()};

	(void)state;
	living = pace_children_seconds(pids, 3);
	assert_true(living >= before + 2 * BURNT);
	/* Nobody is counted who was not named, and has not ended. */
	assert_true(pace_children_seconds(pids, 1) < living);
	assert_true(pace_children_seconds(pids, 0) == before);
	finish(pids[0]);
	/* The first is counted among those that ended, and not once more. */
	dead = pace_children_seconds(pids, 3);
	assert_true(dead >= living - 0.001 && dead < living + BURNT);
	finish(pids[2]);
	dead = pace_children_seconds(NULL, 0);
	assert_true(dead >= before + 2 * BURNT);
	/* Not our own time. */
	assert_true(pace_children_seconds((pid_t[]){0, -1}, 2) == dead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_living_and_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
