/* SPDX-License-Identifier: MIT */

/*
 * names_tool [-c] IMAGE [DEBUG]: reads hexadecimal addresses from standard input, a line each, and
 * prints "start size source name" for each, or "start size -" of the range without names. -c:
 * DEBUG counts if its CRC is that of the image's link. What it cost goes to standard error.
 *
 * names_tool -i FILE: what is to be known of the file, a line each.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "daemon/worker/names/elf_names.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int inspect(int fd)
{
	struct worker_image image;
	int r = elf_inspect(fd, &image);

	if (r) {
		fprintf(stderr, "names_tool: outcome %d\n", r);
		return 1;
	}
	printf("symtab %d\ndebugdata %d\nlines %d\n", image.has_symtab, image.has_debugdata,
	       image.has_lines);
	printf("debuglink %s %08" PRIx32 "\n", image.debuglink, image.debuglink_crc);
	printf("alternate %s ", image.alternate);
	for (uint32_t i = 0; i < image.alternate_id_length; i++)
		printf("%02x", image.alternate_id[i]);
	printf("\ngo %s\nmodule %s\nversion %s\nrevision %s\nmodified %d\nid ", image.go.go,
	       image.go.module, image.go.version, image.go.revision, image.go.is_modified);
	for (uint32_t i = 0; i < image.elf.build_id_length; i++)
		printf("%02x", image.elf.build_id[i]);
	printf("\n");
	return 0;
}

static void answer(const struct symtab *names)
{
	static const char *const sources[] = {"none",    "symtab", "debugdata", "debug",
					      "pclntab", "dynsym", "plt"};
	uint64_t find_ns = 0, n = 0;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t address = strtoull(line, NULL, 16), start = now_ns();
		struct symtab_symbol name;
		bool found = symtab_find(names, address, &name);

		find_ns += now_ns() - start;
		n++;
		printf("%" PRIx64 " %" PRIx64 " ", name.start, name.size);
		if (found)
			printf("%s %s\n", sources[name.source], name.name);
		else
			printf("-\n");
	}
	fprintf(stderr, "%" PRIu64 " look-ups of %.0f ns\n", n,
		n ? (double)find_ns / (double)n : 0.0);
}

int main(int argc, char **argv)
{
	cleanup(symtab_freep) struct symtab *names = NULL;
	bool check_crc = argc > 1 && strcmp(argv[1], "-c") == 0;
	bool is_inspection = argc > 1 && strcmp(argv[1], "-i") == 0;
	int first = check_crc || is_inspection ? 2 : 1;
	cleanup(closep) int image = -1, debug = -1;
	struct rusage usage;
	uint64_t start;
	int r;

	image = argc > first ? open(argv[first], O_RDONLY | O_CLOEXEC) : -1;
	debug = argc > first + 1 ? open(argv[first + 1], O_RDONLY | O_CLOEXEC) : -1;
	if (image < 0 || (debug < 0 && argc > first + 1)) {
		fprintf(stderr, "usage: names_tool [-c] IMAGE [DEBUG] | -i FILE\n");
		return 2;
	}
	if (is_inspection)
		return inspect(image);
	start = now_ns();
	r = elf_names_new(&names, &(struct elf_names_files){image, debug, check_crc});
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "outcome %d in %.1f ms, %ld KiB at most, holds %zu bytes\n", r,
		(double)(now_ns() - start) / 1e6, usage.ru_maxrss, r ? 0 : symtab_bytes(names));
	if (r)
		return 1;
	answer(names);
	return 0;
}
