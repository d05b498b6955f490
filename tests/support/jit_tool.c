/* SPDX-License-Identifier: MIT */

/*
 * jit_tool FILE: reads hexadecimal addresses from standard input, a line each and ascending, and
 * prints "start size name file:line" or "-" for each. FILE is a perf map, or a jitdump by its name
 * (*.dump). What it cost goes to standard error.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "daemon/worker/jit/jit_names.h"

static uint64_t addresses[WORKER_ADDRESSES_MAX];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void answer(struct jit_names *j, size_t i)
{
	struct frame_name frame;
	uint64_t start, size;

	if (!jit_names_get(j, i, &frame, &start, &size))
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
	struct jit_question question = {
		.is_jitdump = ending && strcmp(ending, ".dump") == 0,
		.addresses = addresses,
	};
	struct rusage usage;
	char line[64];
	uint64_t start;
	int r;

	if (fd < 0) {
		fprintf(stderr, "usage: jit_tool FILE\n");
		return 1;
	}
	while (question.n < WORKER_ADDRESSES_MAX && fgets(line, sizeof(line), stdin))
		addresses[question.n++] = strtoull(line, NULL, 16);
	start = now_ns();
	r = jit_names_new(&j, fd, &question);
	if (r) {
		fprintf(stderr, "jit_tool: outcome %d\n", r);
		return 1;
	}
	for (size_t i = 0; i < question.n; i++)
		answer(j, i);
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "%zu addresses in %.1f ms; %ld KiB at most\n", question.n,
		(double)(now_ns() - start) / 1e6, usage.ru_maxrss);
	return 0;
}
