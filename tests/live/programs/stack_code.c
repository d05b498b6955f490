/* SPDX-License-Identifier: MIT */
/*
 * Code that no file holds: leaf < a function in anonymous memory that has a frame pointer <
 * call_code < main. With "moved" that memory is moved by mremap(2) first, with "moving" every now
 * and then.
 */
#include <string.h>
#include <sys/mman.h>

#include "stack_burn.h"

#define SIZE 8192

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

typedef void generated(void (*function)(void));

KEEP void leaf(void)
{
	BURN();
}

KEEP void call_code(generated *g)
{
	g(leaf);
	burn_sink++;
}

/* To where nothing is mapped; no record tells of it. */
static char *move(char *memory)
{
	char *target = mmap(NULL, 4 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (target == MAP_FAILED)
		_exit(1);
	memory = mremap(memory, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, target + SIZE);
	if (memory == MAP_FAILED)
		_exit(1);
	munmap(target, SIZE);
	munmap(target + 2 * SIZE, 2 * SIZE);
	return memory;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory + 64, code, sizeof(code));
	if (mprotect(memory, SIZE, PROT_READ | PROT_EXEC) < 0)
		return 1;
	if (strcmp(how, "moved") == 0)
		memory = move(memory);
	say_ready();
	for (unsigned n = 1;; n++) {
		call_code((generated *)(void *)(memory + 64));
		if (n % 1000 == 0 && strcmp(how, "moving") == 0)
			memory = move(memory);
	}
}
