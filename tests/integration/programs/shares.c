/* SPDX-License-Identifier: MIT */
/*
 * shares [-r] [-a] FILE MS...: a thread for each MS, which burns so much CPU time in a function of
 * its own, burn_10 to burn_87. They begin at once. Prints what their clocks say, and the process's
 * between start and stop of the profile, in microseconds: "burn_10 US ... all US".
 *
 * -r: each thread registers. -a: the first thread has a CPU for itself and sleeps between bits of
 * its work, as long as the others have work on another one.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <gperftools/profiler.h>

#define THREADS_MAX 64
#define BITS        100

static volatile unsigned long sink;

static long clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#define BURN(n)                                                   \
	__attribute__((noinline)) void burn_##n(long until);      \
	void burn_##n(long until)                                 \
	{                                                         \
		while (clock_us(CLOCK_THREAD_CPUTIME_ID) < until) \
			for (int i = 0; i < 50000; i++)           \
				sink += (unsigned long)i + n;     \
	}
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X)      \
	EIGHT(X, 1) \
	EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7) EIGHT(X, 8)
ALL(BURN)

#define NAMED(n) {burn_##n, "burn_" #n},
static const struct {
	void (*burn)(long until_us);
	const char *name;
} functions[] = {ALL(NAMED)};

struct work {
	int number;
	long us, cpu_us;
};

static pthread_barrier_t all_there;
static bool registers, is_alone;
static long others_us; /* all that they burn */

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The first thread's, while the others share a CPU. */
static void burn_in_bits(const struct work *w)
{
	for (int i = 1; i <= BITS; i++) {
		functions[0].burn(w->us / BITS * i);
		/* Not in step with the kernel's ticks. */
		usleep((useconds_t)(others_us / BITS * (50 + i * 37 % 100) / 100));
	}
}

static void *work(void *arg)
{
	struct work *w = arg;

	if (registers)
		ProfilerRegisterThread();
	if (is_alone)
		stay_on(w->number == 0);
	pthread_barrier_wait(&all_there);
	if (is_alone && w->number == 0)
		burn_in_bits(w);
	else
		functions[w->number].burn(w->us);
	w->cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

int main(int argc, char **argv)
{
	struct work works[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	int option, n;
	long begin;

	while ((option = getopt(argc, argv, "ra")) != -1)
		*(option == 'r' ? &registers : &is_alone) = true;
	n = argc - optind - 1;
	if (n < 1 || n > THREADS_MAX)
		return 2;
	pthread_barrier_init(&all_there, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		works[i] = (struct work){.number = i, .us = atol(argv[optind + 1 + i]) * 1000};
		others_us += i ? works[i].us : 0;
	}
	if (!ProfilerStart(argv[optind]))
		return 1;
	begin = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < n; i++)
		pthread_create(&ids[i], NULL, work, &works[i]);
	for (int i = 0; i < n; i++)
		pthread_join(ids[i], NULL);
	begin = clock_us(CLOCK_PROCESS_CPUTIME_ID) - begin;
	ProfilerStop();
	for (int i = 0; i < n; i++)
		printf("%s %ld ", functions[i].name, works[i].cpu_us);
	printf("all %ld\n", begin);
	return 0;
}
