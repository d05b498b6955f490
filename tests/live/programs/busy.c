/* SPDX-License-Identifier: MIT */
/*
 * Spends its time in known shares, for comparison with what a profiler says of it:
 *
 *   main 100 -> run 100 -> left  60 -> alpha 45, beta 15
 *                       -> right 40 -> gamma 30, beta 10
 *   flat: alpha 45, beta 25, gamma 30
 *
 * All three leaves run the same loop, so that time is in proportion to turns. Rounds are of random
 * lengths, about 0.2 ms: with equal ones the shares would be off wherever a CPU is just so fast
 * that a sampling period is a multiple of a round. Built with frame pointers. Runs until it is
 * killed, or for the seconds of CPU time that are given.
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

LEAF left(uint64_t x, unsigned length)
{
	x = alpha(x, 9 * length);
	return beta(x, 3 * length) + 1;
}

LEAF right(uint64_t x, unsigned length)
{
	x = gamma_(x, 6 * length);
	return beta(x, 2 * length) + 1;
}

LEAF run(double seconds)
{
	struct timespec start, now;
	uint64_t x = 1;
	uint32_t random = 1;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	do {
		for (unsigned i = 0; i < 1000; i++) {
			unsigned length;

			random = random * 1664525u + 1013904223u;
			length = 1 + random / (UINT32_MAX / 100 + 1);
			x = right(left(x, length), length);
		}
		sink = x;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (seconds == 0 ||
		 (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
			 seconds);
	return x;
}

int main(int argc, char **argv)
{
	return (int)(run(argc > 1 ? atof(argv[1]) : 0) & 1);
}
