/* SPDX-License-Identifier: MIT */
/*
 * slots FIRST END SECONDS: works from FIRST up to END milliseconds of each second of the wall
 * clock, and sleeps otherwise.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define MS_NS 1000000L

static volatile uint64_t sink;

__attribute__((noinline)) static void burn(const struct timespec *until)
{
	struct timespec now;

	do {
		for (unsigned i = 0; i < 2000; i++)
			sink = sink * 6364136223846793005u + 1442695040888963407u;
		clock_gettime(CLOCK_REALTIME, &now);
	} while (now.tv_sec == until->tv_sec && now.tv_nsec < until->tv_nsec);
}

int main(int argc, char **argv)
{
	long first = argc > 1 ? atol(argv[1]) : 300, end = argc > 2 ? atol(argv[2]) : 600;
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	for (long n = argc > 3 ? atol(argv[3]) : 1; n > 0; n--) {
		at.tv_sec++;
		at.tv_nsec = first * MS_NS;
		while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
			continue;
		at.tv_nsec = end * MS_NS;
		burn(&at);
	}
	return 0;
}
