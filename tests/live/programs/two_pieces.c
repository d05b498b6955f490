/* SPDX-License-Identifier: MIT */
/* Runs code in two pieces of anonymous memory of one length; prints where they are. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LENGTH 0x4000
#define ROUNDS 1000000u

/* Counts its argument down. */
#if defined(__x86_64__)
static const unsigned char code[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3}; /* dec edi; jnz; ret */
#elif defined(__aarch64__)
static const unsigned code[] = {0x71000400, 0x54ffffe1, 0xd65f03c0}; /* subs w0; b.ne; ret */
#else
#error "no code for this architecture"
#endif

/* At @at, with the code at the same offset in each. */
static void make(char *at)
{
	mprotect(at, LENGTH, PROT_READ | PROT_WRITE);
	memcpy(at + 0x100, code, sizeof(code));
	__builtin___clear_cache(at + 0x100, at + 0x100 + sizeof(code));
	mprotect(at, LENGTH, PROT_READ | PROT_EXEC);
}

int main(void)
{
	/* What is between them keeps them from being one mapping. */
	char *all = mmap(NULL, 3 * LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run[2])(unsigned);

	if (all == MAP_FAILED)
		return 1;
	for (int i = 0; i < 2; i++) {
		char *at = all + (long)2 * i * LENGTH;

		make(at);
		run[i] = (void (*)(unsigned))(at + 0x100);
		printf("%lx ", (unsigned long)at);
	}
	printf("%x\n", LENGTH);
	fflush(stdout);
	for (;;) {
		run[0](ROUNDS);
		run[1](ROUNDS);
	}
}
