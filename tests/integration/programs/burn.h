/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_INTEGRATION_BURN_H
#define PROFD_TESTS_INTEGRATION_BURN_H

/* Functions with names of their own, each of which is busy for so many milliseconds of CPU time. */
#include <time.h>

static volatile unsigned long sink;

static inline long cpu_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#define BURN(name)                                               \
	__attribute__((noinline)) void name(long ms);            \
	void name(long ms)                                       \
	{                                                        \
		long end = cpu_ms(CLOCK_THREAD_CPUTIME_ID) + ms; \
                                                                 \
		while (cpu_ms(CLOCK_THREAD_CPUTIME_ID) < end)    \
			for (int i = 0; i < 50000; i++)          \
				sink += (unsigned long)i;        \
	}
#endif
