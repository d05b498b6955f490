/* SPDX-License-Identifier: MIT */
/*
 * -m32 -nostdlib -fno-omit-frame-pointer: leaf < middle < outer < begin < _start, without a C
 * library, so that every frame has a frame pointer, and the last one's is zero.
 */
static volatile unsigned sink;

void begin(void);

__asm__(".text\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	call begin\n"
	"	hlt\n"
	".size _start, . - _start\n");

/* Asking for the frame's address makes even a leaf have one. */
__attribute__((noipa)) void leaf(void)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (unsigned i = 0; i < 50000; i++)
		sink += i;
}

__attribute__((noipa)) void middle(void)
{
	leaf();
	sink++;
}

__attribute__((noipa)) void outer(void)
{
	middle();
	sink++;
}

void begin(void)
{
	int written;

	__asm__ volatile("int $0x80"
			 : "=a"(written)
			 : "0"(4), "b"(1), "c"("ready\n"), "d"(6)
			 : "memory");
	for (;;)
		outer();
}
