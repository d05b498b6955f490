/* SPDX-License-Identifier: MIT */
/*
 * in_step HZ PERCENT CPU: runs on that CPU without a pause, in in_step() for PERCENT of each cycle,
 * and then in between(). HZ cycles begin in a second, by the clock. At SIGTERM it prints how much
 * CPU time, nanoseconds, it has had in each of the two.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t is_over;

static void end_loop(int signal)
{
	(void)signal;
	is_over = 1;
}

static uint64_t now_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void in_step(uint64_t until)
{
	while (now_of(CLOCK_MONOTONIC) < until)
		;
	__asm__ volatile("");
}

__attribute__((noinline)) static void between(uint64_t until)
{
	while (now_of(CLOCK_MONOTONIC) < until)
		;
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t cycle, share, spent[2] = {0}, begin, before;
	cpu_set_t cpus;

	if (argc != 4)
		return 2;
	cycle = 1000000000 / strtoull(argv[1], NULL, 10);
	share = cycle * strtoull(argv[2], NULL, 10) / 100;
	CPU_ZERO(&cpus);
	CPU_SET(strtoul(argv[3], NULL, 10), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	signal(SIGTERM, end_loop);
	begin = now_of(CLOCK_MONOTONIC);
	before = now_of(CLOCK_THREAD_CPUTIME_ID);
	while (!is_over) {
		const uint64_t now = now_of(CLOCK_MONOTONIC), at = (now - begin) % cycle;
		const int is_between = at >= share;
		uint64_t after;

		/* Wherever in a cycle it gets the CPU back. */
		if (is_between)
			between(now - at + cycle);
		else
			in_step(now - at + share);
		after = now_of(CLOCK_THREAD_CPUTIME_ID);
		spent[is_between] += after - before;
		before = after;
	}
	printf("%" PRIu64 " %" PRIu64 "\n", spent[0], spent[1]);
	return 0;
}
