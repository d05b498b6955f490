/* SPDX-License-Identifier: MIT */
/*
 * Generates more code than anybody runs, says in its perf map how each piece is called, at length
 * and each otherwise, and works in all of it by turns, many pieces deep. Prints a line when it
 * begins.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECES     100000u
#define DEPTH      60u
#define NAME_WORDS 30 /* of 16 characters */

/* A piece calls the next one of a list that ends with NULL, and works where the list ends. */
#if defined(__x86_64__)
static const unsigned char piece[64] = {
	0x55,                         /* push %rbp */
	0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
	0x48, 0x8b, 0x07,             /* mov (%rdi), %rax */
	0x48, 0x83, 0xc7, 0x08,       /* add $8, %rdi */
	0x48, 0x85, 0xc0,             /* test %rax, %rax */
	0x74, 0x04,                   /* jz 1f */
	0xff, 0xd0,                   /* call *%rax */
	0x5d,                         /* pop %rbp */
	0xc3,                         /* ret */
	0xb9, 0x20, 0x4e, 0x00, 0x00, /* 1: mov $20000, %ecx */
	0xff, 0xc9,                   /* 2: dec %ecx */
	0x75, 0xfc,                   /* jnz 2b */
	0x5d,                         /* pop %rbp */
	0xc3,                         /* ret */
};
#elif defined(__aarch64__)
static const uint32_t piece[16] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xf8408401, /* ldr x1, [x0], #8 */
	0xb4000081, /* cbz x1, 1f */
	0xd63f0020, /* blr x1 */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
	0x5289c402, /* 1: mov w2, #20000 */
	0x71000442, /* 2: subs w2, w2, #1 */
	0x54ffffe1, /* b.ne 2b */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#endif

typedef void generated(void *const *next);

static uint64_t noise(void)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 24;
}

static void name_pieces(const unsigned char *code)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		exit(1);
	for (unsigned i = 0; i < PIECES; i++) {
		fprintf(map, "%lx %zx ", (unsigned long)(code + i * sizeof(piece)), sizeof(piece));
		for (unsigned j = 0; j < NAME_WORDS; j++)
			fprintf(map, "%016lx", (unsigned long)noise());
		fputc('\n', map);
	}
	fclose(map);
}

int main(void)
{
	unsigned char *code = mmap(NULL, PIECES * sizeof(piece), PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *list[DEPTH + 1] = {NULL};

	if (code == MAP_FAILED)
		return 1;
	for (unsigned i = 0; i < PIECES; i++)
		memcpy(code + i * sizeof(piece), piece, sizeof(piece));
	__builtin___clear_cache((char *)code, (char *)code + PIECES * sizeof(piece));
	name_pieces(code);
	puts("works");
	fflush(stdout);
	for (;;) {
		for (unsigned i = 0; i < DEPTH; i++)
			list[i] = code + noise() % PIECES * sizeof(piece);
		((generated *)(void *)code)(list);
	}
}
