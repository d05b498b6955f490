/* SPDX-License-Identifier: MIT */
/*
 * legacy_served FILE MS: busy for some milliseconds, and profiled meanwhile by the library that it
 * is linked with. Of its time, hot() has nearly all.
 */
#include <stdlib.h>
#include <time.h>

int ProfilerStart(const char *name);
void ProfilerStop(void);
__attribute__((noinline)) void hot(void);
__attribute__((noinline)) void caller(void);

static volatile unsigned sum;

void hot(void)
{
	for (unsigned i = 0; i < 1000000; i++)
		sum += i;
}

void caller(void)
{
	hot();
	sum++;
}

int main(int argc, char **argv)
{
	clock_t end;

	if (argc != 3 || !ProfilerStart(argv[1]))
		return 1;
	end = clock() + atol(argv[2]) * (CLOCKS_PER_SEC / 1000);
	while (clock() < end)
		caller();
	ProfilerStop();
	return 0;
}
