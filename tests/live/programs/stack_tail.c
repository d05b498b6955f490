/* SPDX-License-Identifier: MIT */
/*
 * Tail calls (-O2): outer jumps to second, which jumps to third, which calls leaf: the stack is
 * leaf < third < main. Then fourth jumps to leaf itself: leaf < main.
 */
#include "stack_burn.h"

KEEP void leaf(void)
{
	BURN();
}

KEEP void third(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		leaf();
}

KEEP void second(unsigned n)
{
	burn_sink += n;
	third(n + 1);
}

KEEP void outer(unsigned n)
{
	burn_sink += n;
	second(n + 1);
}

KEEP void fourth(void)
{
	burn_sink++;
	leaf();
}

int main(void)
{
	say_ready();
	while (again()) {
		outer(1);
		fourth();
	}
}
