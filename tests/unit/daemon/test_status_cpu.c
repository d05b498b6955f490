/* SPDX-License-Identifier: MIT */
/* The CPU time of children and of their children: while they live, when they ended, and for good.
 */
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

#include "common/clock.h"
#include "daemon/pace.h"

#define BURNT 0.05
#define TICK  (1.0 / (double)sysconf(_SC_CLK_TCK))

static void burn_cpu(void)
{
	while ((double)clock() / CLOCKS_PER_SEC < BURNT)
		continue;
}

/* Forks; the child ends with us. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the test may fail before it ends us */
	return pid;
}

/* As a keeper: its child burns; it waits for that one when it gets a byte. */
static void run_keeper(int in, int out)
{
	pid_t servant = fork_child();
	char byte;

	if (servant == 0) {
		burn_cpu();
		(void)!write(out, "", 1);
		pause();
	}
	(void)!read(in, &byte, 1);
	kill(servant, SIGKILL);
	waitpid(servant, NULL, 0);
	(void)!write(out, "", 1);
	pause();
	_exit(0);
}

/* A child that uses BURNT seconds of CPU, by its own clock, says so and waits to be killed. */
static void run_burner(int in, int out)
{
	(void)in;
	burn_cpu();
	(void)!write(out, "", 1);
	pause();
	_exit(0);
}

struct burner {
	pid_t pid;
	int to, from;
};

static void await_byte(const struct burner *b)
{
	char byte;

	assert_int_equal(read(b->from, &byte, 1), 1);
}

static struct burner start_burner(void (*run)(int in, int out))
{
	int to[2], from[2];
	struct burner b;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	b = (struct burner){fork_child(), to[1], from[0]};
	if (b.pid == 0)
		run(to[0], from[1]);
	close(to[0]);
	close(from[1]);
	await_byte(&b);
	return b;
}

static void end_burner(const struct burner *b)
{
	assert_int_equal(kill(b->pid, SIGKILL), 0);
	assert_int_equal(waitpid(b->pid, NULL, 0), b->pid);
	close(b->to);
	close(b->from);
}

static void test_living_and_dead(void **state)
{
	double before = pace_children_seconds(), living, dead;
	struct burner a = start_burner(run_burner), b = start_burner(run_burner);

	(void)state;
	living = pace_children_seconds();
	assert_true(living >= before + 2 * BURNT);
	end_burner(&a);
	/* The first is counted among those that ended, and not once more. */
	dead = pace_children_seconds();
	assert_true(dead >= living - 0.001 && dead < living + BURNT);
	end_burner(&b);
	dead = pace_children_seconds();
	assert_true(dead >= before + 2 * BURNT);
	/* Not our own time. */
	for (double from = (double)clock(); (double)clock() < from + BURNT * CLOCKS_PER_SEC;)
		continue;
	assert_true(pace_children_seconds() == dead);
}

/* A servant counts while it lives, and when its keeper has waited for it, in ticks. */
static void test_children_of_children(void **state)
{
	double before = pace_children_seconds(), living, ended;
	struct burner keeper = start_burner(run_keeper);

	(void)state;
	living = pace_children_seconds();
	assert_true(living >= before + BURNT);
	assert_int_equal(write(keeper.to, "", 1), 1);
	await_byte(&keeper);
	ended = pace_children_seconds();
	assert_true(ended >= living - 2 * TICK && ended < living + BURNT);
	end_burner(&keeper);
	assert_true(pace_children_seconds() >= before + BURNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_living_and_dead),
		cmocka_unit_test(test_children_of_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
