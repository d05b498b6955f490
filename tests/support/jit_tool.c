/* SPDX-License-Identifier: MIT */

/*
 * jit_tool FILE: reads hexadecimal addresses from standard input, a line each, and prints "start
 * size name file:line" or "-" for each. FILE is a perf map, or a jitdump by its name (*.dump). What
 * it cost goes to standard error.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/worker/jit/jit_names.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void answer(const struct jit_names *j, uint64_t address)
{
	struct frame_name frame;
	uint64_t start, size;

	if (!jit_names_find(j, address, &frame, &start, &size))
		printf("-\n");
	else if (frame.file)
		printf("%" PRIx64 " %" PRIx64 " %s %s:%u\n", start, size, frame.system_name,
		       frame.file, frame.line);
	else
		printf("%" PRIx64 " %" PRIx64 " %s\n", start, size, frame.system_name);
}

int main(int argc, char **argv)
{
	cleanup(jit_names_freep) struct jit_names *j = NULL;
	cleanup(closep) int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	const char *ending = argc == 2 ? strrchr(argv[1], '.') : NULL;
	uint64_t start = now_ns();
	char line[64];
	int r;

	if (fd < 0) {
		fprintf(stderr, "usage: jit_tool FILE\n");
		return 1;
	}
	r = jit_names_read(&j, fd, ending && strcmp(ending, ".dump") == 0);
	if (r) {
		fprintf(stderr, "jit_tool: outcome %d\n", r);
		return 1;
	}
	fprintf(stderr, "read in %.1f ms, holds %zu bytes, %zu ranges\n",
		(double)(now_ns() - start) / 1e6, jit_names_bytes(j), jit_names_count(j));
	while (fgets(line, sizeof(line), stdin))
		answer(j, strtoull(line, NULL, 16));
	return 0;
}
