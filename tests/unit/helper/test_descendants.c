/* SPDX-License-Identifier: MIT */
/* All that descend from this process, whichever of its threads forked them. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/helper/descendants.h"

static bool is_found(const struct descendants *d, pid_t pid)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->pids[i] == pid)
			return true;
	return false;
}

/* A keeper with a servant, whose pid it says; both end with the thread that forked the keeper. */
static pid_t fork_keeper_of(pid_t *ret_servant)
{
	int ends[2];
	pid_t keeper;

	assert_int_equal(pipe(ends), 0);
	keeper = fork();
	if (keeper == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fork() == 0) {
			const pid_t servant = getpid();

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* Not before: what ends its parent now ends it, too. */
			(void)!write(ends[1], &servant, sizeof(servant));
		}
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], ret_servant, sizeof(*ret_servant)), sizeof(*ret_servant));
	close(ends[0]);
	close(ends[1]);
	return keeper;
}

static void end_keeper(pid_t keeper)
{
	kill(keeper, SIGKILL);
	waitpid(keeper, NULL, 0);
}

struct other_thread {
	pthread_barrier_t barrier;
	pid_t keeper, servant;
};

static void *run_thread(void *userdata)
{
	struct other_thread *t = userdata;

	t->keeper = fork_keeper_of(&t->servant);
	pthread_barrier_wait(&t->barrier);
	pthread_barrier_wait(&t->barrier);
	return NULL;
}

static void test_of_all_threads(void **state)
{
	struct other_thread other = {0};
	struct descendants found;
	pid_t keeper, servant;
	pthread_t thread;

	(void)state;
	descendants_find(&found, getpid());
	assert_int_equal(found.n, 1);
	assert_int_equal(found.pids[0], getpid());
	keeper = fork_keeper_of(&servant);
	pthread_barrier_init(&other.barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, run_thread, &other), 0);
	pthread_barrier_wait(&other.barrier);
	descendants_find(&found, getpid());
	assert_int_equal(found.n, 5);
	assert_true(is_found(&found, keeper) && is_found(&found, servant));
	assert_true(is_found(&found, other.keeper) && is_found(&found, other.servant));
	/* Of a child, it and what is below it. */
	descendants_find(&found, keeper);
	assert_int_equal(found.n, 2);
	assert_int_equal(found.pids[0], keeper);
	assert_int_equal(found.pids[1], servant);
	pthread_barrier_wait(&other.barrier);
	pthread_join(thread, NULL);
	end_keeper(keeper);
	end_keeper(other.keeper);
	pthread_barrier_destroy(&other.barrier);
}

/* One that was killed and not waited for uses no memory; one that is none has no descendants. */
static void test_gone(void **state)
{
	struct descendants found;
	pid_t servant, keeper = fork_keeper_of(&servant);

	(void)state;
	end_keeper(keeper);
	descendants_find(&found, keeper);
	assert_int_equal(found.n, 1);
	assert_int_equal(descendants_ended_ns(keeper), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_all_threads),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
