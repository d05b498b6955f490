/* SPDX-License-Identifier: MIT */
/*
 * many_stacks THREADS SECONDS: each thread uses so much CPU time in stacks of which hardly one is
 * seen twice: 32 calls deep, each of one of two functions, as a random number has it. What the
 * process has used it prints, in nanoseconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 32

static volatile uint64_t sink;
static double seconds;

static uint64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void odd(uint64_t path, unsigned depth);

__attribute__((noinline)) static void go_on(uint64_t path, unsigned depth);

__attribute__((noinline)) static void even(uint64_t path, unsigned depth)
{
	go_on(path, depth);
	sink++;
}

__attribute__((noinline)) static void odd(uint64_t path, unsigned depth)
{
	go_on(path, depth);
	sink--;
}

__attribute__((noinline)) static void go_on(uint64_t path, unsigned depth)
{
	if (depth == 0)
		for (unsigned i = 0; i < 100000; i++)
			sink += i;
	else if (path & 1)
		odd(path >> 1, depth - 1);
	else
		even(path >> 1, depth - 1);
	sink++;
}

static void *work(void *state)
{
	uint64_t x = (uint64_t)(uintptr_t)state, end_ns = (uint64_t)(seconds * 1e9);

	while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		go_on(x >> 32, DEPTH);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t threads[64];

	seconds = argc > 2 ? atof(argv[2]) : 1;
	for (unsigned i = 0; i < n && i < 64; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1));
	for (unsigned i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", (unsigned long long)clock_now(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
