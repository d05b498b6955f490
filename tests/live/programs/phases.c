/* SPDX-License-Identifier: MIT */
/*
 * phases MS: one thread works alone for MS milliseconds of CPU time, in alone(), then it and
 * another one work for as long each, in together(), and so on until it is killed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t begin, end;
static volatile uint64_t sink;
static int64_t phase_ns;

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline __attribute__((always_inline)) void work(void)
{
	const int64_t end_ns = cpu_ns() + phase_ns;
	uint64_t x = 1;

	for (; cpu_ns() < end_ns; sink = x)
		for (unsigned i = 0; i < 200000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
}

static __attribute__((noinline)) void alone(void)
{
	work();
}

static __attribute__((noinline)) void together(void)
{
	work();
}

static void *other(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_barrier_wait(&begin);
		together();
		pthread_barrier_wait(&end);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	phase_ns = (argc > 1 ? atoi(argv[1]) : 100) * INT64_C(1000000);
	pthread_barrier_init(&begin, NULL, 2);
	pthread_barrier_init(&end, NULL, 2);
	if (pthread_create(&thread, NULL, other, NULL) != 0)
		return 1;
	for (;;) {
		alone();
		pthread_barrier_wait(&begin);
		together();
		pthread_barrier_wait(&end);
	}
}
