/* SPDX-License-Identifier: MIT */
/* Sleeps as often as it is told, once standard input has a line, and until it has another one. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static int nap(void)
{
	const struct timespec while_ = {.tv_nsec = 2000000};

	return nanosleep(&while_, NULL) + 1;
}

__attribute__((noinline)) static int doze(int n)
{
	int slept = 0;

	while (n-- > 0)
		slept += nap();
	return slept + 1;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;

	getchar();
	printf("%d\n", doze(n));
	fflush(stdout);
	getchar();
	return 0;
}
