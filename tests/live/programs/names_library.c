/* SPDX-License-Identifier: MIT */
/*
 * A library that exists several times over: the same exported function each time, and behind it
 * one that only this one has, INNER. PADDING moves it to where the others have something else.
 */
#include <stdint.h>

void library_work(void);

static volatile uint64_t sink;

#if PADDING
__attribute__((noinline, used)) static void padding(void)
{
	for (int i = 0; i < PADDING; i++)
		sink ^= sink << 3 | (uint64_t)i;
	sink += sink % 17 + sink / 3;
}
#endif

__attribute__((noinline)) static void INNER(void)
{
	for (int i = 0; i < 20000; i++)
		sink += (uint64_t)i;
}

void library_work(void)
{
	INNER();
	sink++;
}
