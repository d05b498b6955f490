/* SPDX-License-Identifier: MIT */
/* What common/ asks of a program, for the shared object alone: memory, and where errors arise. */
#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <sys/mman.h>

#include "common/error.h"

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t n, size_t size);
void __wrap_free(void *memory);

/* Before each piece. */
struct memory_head {
	alignas(max_align_t) size_t length; /* of the mapping */
};

void *__wrap_malloc(size_t size)
{
	struct memory_head *head;
	size_t length;

	if (__builtin_add_overflow(size, sizeof(*head), &length)) {
		errno = ENOMEM;
		return NULL;
	}
	head = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (head == MAP_FAILED)
		return NULL;
	head->length = length;
	return head + 1;
}

/* What is mapped is all 0. */
void *__wrap_calloc(size_t n, size_t size)
{
	return __wrap_reallocarray(NULL, n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	struct memory_head *head;
	size_t length;

	if (!memory)
		return __wrap_malloc(size);
	if (__builtin_add_overflow(size, sizeof(*head), &length)) {
		errno = ENOMEM;
		return NULL;
	}
	head = (struct memory_head *)memory - 1;
	head = mremap(head, head->length, length, MREMAP_MAYMOVE);
	if (head == MAP_FAILED)
		return NULL;
	head->length = length;
	return head + 1;
}

void *__wrap_reallocarray(void *memory, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return __wrap_realloc(memory, all);
}

void __wrap_free(void *memory)
{
	struct memory_head *head;

	if (!memory)
		return;
	head = (struct memory_head *)memory - 1;
	munmap(head, head->length);
}

/* That is not reported, and the program's threads are not to hold memory for it. */
int error_origin_at(int err, const char *file, int line)
{
	(void)file;
	(void)line;
	return err;
}
