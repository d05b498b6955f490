/* SPDX-License-Identifier: MIT */
/*
 * A library, built with -DNAME=x: x_leaf < x_entry. Built twice the same but for the name, so that
 * the two have the same shape and take each other's place in memory.
 */
#define JOIN(a, b)     a##b
#define FUNCTION(a, b) JOIN(a, b)

static volatile unsigned long sink;

__attribute__((noipa)) void FUNCTION(NAME, _leaf)(void);
void FUNCTION(NAME, _entry)(unsigned n);

void FUNCTION(NAME, _leaf)(void)
{
	for (unsigned i = 0; i < 50000; i++)
		sink += i;
}

/* By way of the PLT, as the symbol is exported. */
void FUNCTION(NAME, _entry)(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		FUNCTION(NAME, _leaf)();
	sink++;
}
