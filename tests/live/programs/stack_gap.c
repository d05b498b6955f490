/* SPDX-License-Identifier: MIT */
/*
 * Functions without unwind rules in a program that has them: those of stack_gap.S. The argument
 * says which; pointer: gap_leaf, called by a pointer; stale: with words of earlier calls in its
 * room; thread: gap_leaf, in a thread, whose stack is near to the libraries.
 */
#include <pthread.h>
#include <string.h>

#include "stack_burn.h"

typedef void gap_function(unsigned long turns);

gap_function gap_leaf, gap_inner, gap_borrows, gap_aligned, gap_stale;

static gap_function *volatile pointer = gap_leaf;

/* Frames that hold many words, and calls of the same and of other functions. */
static KEEP void leaves_words(unsigned depth)
{
	gap_leaf(1);
	gap_inner(1);
	if (depth)
		leaves_words(depth - 1);
	__asm__ volatile("");
}

static KEEP void call_gap(const char *which)
{
	if (!strcmp(which, "leaf"))
		gap_leaf(4 * TURNS);
	else if (!strcmp(which, "inner"))
		gap_inner(4 * TURNS);
	else if (!strcmp(which, "pointer"))
		pointer(4 * TURNS);
	else if (!strcmp(which, "aligned"))
		gap_aligned(4 * TURNS);
	else if (!strcmp(which, "stale"))
		gap_stale(4 * TURNS);
	__asm__ volatile("");
}

/* Has a frame pointer of its own, and room whose size nobody knows before. */
static KEEP void call_with_frame(unsigned n)
{
	char room[n];

	__asm__ volatile("" : : "r"(room) : "memory");
	gap_borrows(4 * TURNS);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static void *thread_main(void *unused)
{
	(void)unused;
	while (again())
		call_gap("leaf");
	return NULL;
}

static void run_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 65536) ||
	    pthread_create(&thread, &attr, thread_main, NULL) || pthread_join(thread, NULL))
		_exit(1);
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "leaf";

	say_ready();
	if (!strcmp(which, "thread"))
		run_thread();
	while (again()) {
		if (!strcmp(which, "stale"))
			leaves_words(12);
		if (!strcmp(which, "borrows"))
			call_with_frame((unsigned)argc * 8);
		else
			call_gap(which);
	}
	return 0;
}
