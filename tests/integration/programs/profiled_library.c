/* SPDX-License-Identifier: MIT */
/* A library that profiled.c opens and closes. */
#include <time.h>

void burn_library(long ms);
void burn_library(long ms)
{
	struct timespec t;
	volatile unsigned long sink = 0;
	long now, end = 0;

	do {
		for (int i = 0; i < 200000; i++)
			sink += (unsigned long)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = t.tv_sec * 1000 + t.tv_nsec / 1000000;
		end = end ? end : now + ms;
	} while (now < end);
}
