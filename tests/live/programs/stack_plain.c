/* SPDX-License-Identifier: MIT */
/* leaf < middle < outer < main, built in many ways; with an argument, for so many milliseconds. */
#include <stdlib.h>
#include <time.h>

#include "stack_burn.h"

KEEP void leaf(void)
{
	BURN();
}

KEEP void middle(void)
{
	leaf();
	burn_sink++;
}

KEEP void outer(void)
{
	middle();
	burn_sink++;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long end = argc > 1 ? now_ms() + atol(argv[1]) : 0;

	if (!end)
		say_ready();
	do
		outer();
	while (end ? now_ms() < end : again());
	return 0;
}
