/* SPDX-License-Identifier: MIT */
/*
 * One hot loop: main -> outer -> middle -> inner, and all time in inner. Each record of its legacy
 * profile shares its callers, which is what some readers mistake for signal frames.
 */
#include <stdint.h>

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

int main(void)
{
	for (uint64_t x = 1;; sink = x)
		x = outer(x);
}
