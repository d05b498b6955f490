/* SPDX-License-Identifier: MIT */
/*
 * Two threads that work, named worker-a and worker-b; prints their thread ids, a line. Runs until
 * it is killed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static volatile uint64_t sink;

static void *work(void *argument)
{
	long *tid = argument;
	uint64_t x = (uint64_t)*tid;

	prctl(PR_SET_NAME, *tid ? "worker-b" : "worker-a");
	*tid = syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	for (;; sink = x)
		for (unsigned i = 0; i < 100000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
	return NULL;
}

int main(void)
{
	long tids[2] = {0, 1};
	pthread_t threads[2];

	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, &tids[i]) != 0)
			return 1;
	pthread_barrier_wait(&barrier);
	printf("%ld %ld\n", tids[0], tids[1]);
	fflush(stdout);
	pause();
	return 0;
}
