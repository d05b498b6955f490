/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_STACK_BURN_H
#define PROFD_TESTS_STACK_BURN_H

/*
 * What the programs share whose stacks are known: functions that stay what they are written as
 * (KEEP: no inlining, no clones, no knowledge of callees), a loop to spend time in, and the word
 * that they have come to it. Built with -DROUNDS=n they end after as many rounds, with -DTURNS=n
 * they spend less time.
 */
#include <unistd.h>

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif

static volatile unsigned long burn_sink;

#ifndef ROUNDS
#define ROUNDS 0
#endif
#ifndef TURNS
#define TURNS 50000u
#endif

/* Some 50 us, within the function that says so. */
#define BURN()                                                      \
	do {                                                        \
		for (unsigned burn_i = 0; burn_i < TURNS; burn_i++) \
			burn_sink += burn_i;                        \
	} while (0)

/* Whether there is another round to go. */
static inline int again(void)
{
	static unsigned long round;

	return !ROUNDS || round++ < ROUNDS;
}

static inline void say_ready(void)
{
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		_exit(1);
}

#endif
