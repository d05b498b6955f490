/* SPDX-License-Identifier: MIT */
/* leaf < middle < coroutine, on a stack of makecontext(3); it yields to main all the time. */
#include <stdlib.h>
#include <ucontext.h>

#include "stack_burn.h"

#define STACK 65536

static ucontext_t main_context, other_context;

KEEP void leaf(void)
{
	BURN();
}

KEEP void middle(void)
{
	leaf();
	burn_sink++;
}

KEEP void coroutine(void)
{
	for (;;) {
		for (unsigned i = 0; i < 20; i++)
			middle();
		swapcontext(&other_context, &main_context);
	}
}

int main(void)
{
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = malloc(STACK);
	other_context.uc_stack.ss_size = STACK;
	makecontext(&other_context, coroutine, 0);
	say_ready();
	for (;;)
		swapcontext(&main_context, &other_context);
}
