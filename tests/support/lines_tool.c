/* SPDX-License-Identifier: MIT */

/*
 * lines_tool IMAGE [DEBUG [ALTERNATE]]: reads hexadecimal addresses from standard input, a line
 * each, and prints for each "address start size", then a line "name<TAB>file:line<TAB>start line"
 * for each frame, innermost first. DEBUG: "" none.
 * lines_tool -d: reads raw names and prints them demangled.
 * What it cost goes to standard error.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/worker/dwarf/dwarf_lines.h"
#include "daemon/worker/names/demangle.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int demangle_all(void)
{
	cleanup(freep) char *line = NULL;
	size_t size = 0;
	ssize_t n;

	while ((n = getline(&line, &size, stdin)) > 0) {
		cleanup(freep) char *name = NULL;

		line[strcspn(line, "\n")] = '\0';
		name = demangle_name(line, DEMANGLE_WHOLE);
		puts(name ? name : "");
	}
	return 0;
}

static void print_address(struct dwarf_lines *d, uint64_t address, uint64_t *ns)
{
	struct frame_name frames[WORKER_FRAMES_MAX];
	uint64_t start = 0, size = 0, before = now_ns();
	size_t n;

	n = dwarf_lines_find(d, address, frames, WORKER_FRAMES_MAX, &start, &size);
	*ns += now_ns() - before;
	printf("%" PRIx64 " %" PRIx64 " %" PRIx64 "\n", address, start, size);
	for (size_t i = 0; i < n; i++)
		printf("%s\t%s:%" PRIu32 "\t%" PRIu32 "\n", frames[i].system_name,
		       frames[i].file ? frames[i].file : "", frames[i].line, frames[i].start_line);
}

int main(int argc, char **argv)
{
	cleanup(dwarf_lines_freep) struct dwarf_lines *d = NULL;
	int fds[3] = {-1, -1, -1};
	uint64_t find_ns = 0, load_ns, n = 0;
	char line[64];
	int r;

	if (argc == 2 && strcmp(argv[1], "-d") == 0)
		return demangle_all();
	for (int i = 1; i < argc && i < 4; i++)
		fds[i - 1] = argv[i][0] ? open(argv[i], O_RDONLY | O_CLOEXEC) : -1;
	load_ns = now_ns();
	r = dwarf_lines_new(&d, &(struct dwarf_lines_files){fds[0], fds[1], fds[2], 1u << 30});
	load_ns = now_ns() - load_ns;
	for (int i = 0; i < 3; i++)
		closep(&fds[i]);
	if (r) {
		fprintf(stderr, "lines_tool: outcome %d\n", r);
		return 1;
	}
	for (; fgets(line, sizeof(line), stdin); n++)
		print_address(d, strtoull(line, NULL, 16), &find_ns);
	fprintf(stderr, "opened in %.1f ms, %" PRIu64 " look-ups in %.1f ms, holds %zu bytes\n",
		(double)load_ns / 1e6, n, (double)find_ns / 1e6, dwarf_lines_bytes(d));
	return 0;
}
