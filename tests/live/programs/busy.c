/* SPDX-License-Identifier: MIT */
/*
 * Spends its time in known shares, for comparison with what a profiler says of it:
 *
 *   main 100 -> run 100 -> left  60 -> alpha 45, beta 15
 *                       -> right 40 -> gamma 30, beta 10
 *   flat: alpha 45, beta 25, gamma 30
 *
 * All three leaves run the same loop, so that time is in proportion to turns. One round takes
 * about 0.3 ms and is no multiple of a sampling period. Built with frame pointers.
 * Runs until it is killed, or for the seconds that are given.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define LEAF __attribute__((noinline, noclone)) static uint64_t

/*
 * Written out in each leaf, so that the time is the leaf's own. Asking for the frame's address
 * makes gcc set up a frame in a leaf, too.
 */
#define SPIN(turns, x)                                            \
	__asm__ volatile("" : : "r"(__builtin_frame_address(0))); \
	for (unsigned i = 0; i < (turns)*100u; i++)               \
	(x) = (x)*6364136223846793005u + 1442695040888963407u

static volatile uint64_t sink;

LEAF alpha(uint64_t x, unsigned turns)
{
	SPIN(turns, x);
	return x;
}

LEAF beta(uint64_t x, unsigned turns)
{
	SPIN(turns, x);
	return x;
}

LEAF gamma_(uint64_t x, unsigned turns)
{
	SPIN(turns, x);
	return x;
}

LEAF left(uint64_t x)
{
	x = alpha(x, 450);
	return beta(x, 150) + 1;
}

LEAF right(uint64_t x)
{
	x = gamma_(x, 300);
	return beta(x, 100) + 1;
}

LEAF run(double seconds)
{
	struct timespec start, now;
	uint64_t x = 1;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (unsigned i = 0; i < 1000; i++)
			x = right(left(x));
		sink = x;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (seconds == 0 ||
		 (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
			 seconds);
	return x;
}

int main(int argc, char **argv)
{
	return (int)(run(argc > 1 ? atof(argv[1]) : 0) & 1);
}
