/* SPDX-License-Identifier: MIT */
/* names_user [SECONDS]: works in names_library.c's library and in libc, for ever or so long. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define N 2048

void library_work(void);

static uint32_t numbers[N];

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static __attribute__((noinline)) void sort(void)
{
	for (uint32_t i = 0; i < N; i++)
		numbers[i] = i * 2654435761u;
	qsort(numbers, N, sizeof(*numbers), compare);
}

int main(int argc, char **argv)
{
	time_t end = argc > 1 ? time(NULL) + atoi(argv[1]) : 0;

	while (!end || time(NULL) < end) {
		for (int i = 0; i < 20; i++)
			library_work();
		sort();
	}
	return 0;
}
