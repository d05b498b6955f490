/* SPDX-License-Identifier: MIT */
/*
 * Stacks that are none. "pointer": the stack pointer leads nowhere; "zero": it is 0; "kernel": it
 * lies in the kernel's half; "return": the return addresses are overwritten with garbage; "loop":
 * with one that leads back here, and frame pointers that form a ring.
 */
#include <stdint.h>
#include <string.h>

#include "stack_burn.h"

KEEP void with_pointer(uintptr_t sp)
{
	__asm__ volatile("mov %0, %%rsp\n"
			 "mov %0, %%rbp\n"
			 "1: jmp 1b\n"
			 :
			 : "r"(sp)
			 : "memory");
	__builtin_unreachable();
}

/* Everything above, up to the arguments of the program, is set to @word. */
KEEP void overwrite(uintptr_t word)
{
	volatile uintptr_t *at = __builtin_frame_address(0);

	for (unsigned i = 0; i < 24; i++)
		at[i] = word ? word : (uintptr_t)at;
	for (;;)
		BURN();
}

KEEP void middle(const char *how)
{
	if (strcmp(how, "pointer") == 0)
		with_pointer(0x123456789000);
	else if (strcmp(how, "zero") == 0)
		with_pointer(0);
	else if (strcmp(how, "kernel") == 0)
		with_pointer((uintptr_t)0xffffffff81000000);
	else if (strcmp(how, "return") == 0)
		overwrite(0x4141414141414141);
	else
		overwrite(0);
	burn_sink++;
}

int main(int argc, char **argv)
{
	say_ready();
	middle(argc > 1 ? argv[1] : "");
	return 0;
}
