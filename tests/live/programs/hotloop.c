/* SPDX-License-Identifier: MIT */
/*
 * hotloop [PERCENT]: one hot loop: main -> outer -> middle -> inner, and all time in inner. Each
 * record of its legacy profile shares its callers, which is what some readers mistake for signal
 * frames. With PERCENT it has a CPU for so much of the time at most, where a test needs some
 * samples of it and the rest of the machine is for others.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define FRAME __attribute__((noinline, noclone)) static uint64_t

static volatile uint64_t sink;

FRAME inner(uint64_t x)
{
	/* Makes gcc set up a frame in a leaf, too. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (unsigned i = 0; i < 50000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

FRAME middle(uint64_t x)
{
	return inner(x) + 1;
}

FRAME outer(uint64_t x)
{
	return middle(x) + 1;
}

/* For as long as what was worked since the last time calls for. */
static void rest(unsigned percent)
{
	static int64_t before_ns;
	struct timespec used, pause;
	int64_t used_ns, ns;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	used_ns = used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
	ns = (used_ns - before_ns) * (100 - percent) / percent;
	before_ns = used_ns;
	pause = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	unsigned percent = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	uint64_t x = 1;

	for (uint64_t i = 1;; i++) {
		sink = x = outer(x);
		if (percent > 0 && percent < 100 && i % 200 == 0)
			rest(percent);
	}
}
