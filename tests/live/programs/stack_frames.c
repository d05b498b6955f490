/* SPDX-License-Identifier: MIT */
/*
 * Frames of sizes that are known only at run time, and frames that are aligned more than the ABI
 * promises: leaf < fixed < variable < both < aligned < argument < main.
 */
#include <alloca.h>
#include <stdint.h>

#include "stack_burn.h"

static volatile unsigned some = 3;

KEEP void leaf(char *memory)
{
	memory[0] = 1;
	BURN();
}

/* More than a page, in a frame of fixed size. */
KEEP void fixed(char *above)
{
	char memory[9000];

	memory[8999] = above[0];
	leaf(memory);
	burn_sink++;
}

KEEP void variable(unsigned n)
{
	char *memory = alloca(n * 100 + 1);

	for (unsigned i = 0; i < n; i++)
		memory = alloca(i * 8 + 1);
	fixed(memory);
	burn_sink++;
}

KEEP void both(unsigned n)
{
	_Alignas(64) char memory[n % 7 + 200];
	char *more = alloca(n * 10 + 1);

	more[0] = memory[0] = (char)((uintptr_t)memory & 63);
	variable(n + (unsigned)memory[0]);
	burn_sink += (unsigned char)more[0];
}

KEEP void aligned(unsigned n)
{
	_Alignas(128) char memory[256];

	memory[0] = (char)((uintptr_t)memory & 127);
	both(n + (unsigned)memory[0]);
	burn_sink += (unsigned char)memory[0];
}

/* Its seventh argument and on lie on the stack: they are found by the caller's stack pointer. */
KEEP void argument(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
		   unsigned g, unsigned h)
{
	_Alignas(32) char memory[64];

	memory[0] = (char)((uintptr_t)memory & 31);
	aligned(a + b + c + d + e + f + g + h + (unsigned)memory[0]);
	burn_sink += (unsigned char)memory[0];
}

int main(void)
{
	say_ready();
	while (again())
		argument(some, 0, 0, 0, 0, 0, some, 1);
}
