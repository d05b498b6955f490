/* SPDX-License-Identifier: MIT */

/*
 * symtab_tool FILE [MODULE]: reads hexadecimal addresses from standard input, a line each, and
 * prints "start size name" or "-" for each. FILE is an ELF file or, by its text, kallsyms. What it
 * cost goes to standard error.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/symbols/symtab.h"
#include "tests/support/files.h"
#include "tests/support/symtab_from_elf.h"

static int load(const char *path, const char *module, struct symtab **ret, uint64_t *ret_ns)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup(freep) uint8_t *text = NULL;
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	char magic[4] = "";
	size_t length;
	int r;

	if (fd < 0 || pread(fd, magic, sizeof(magic), 0) < 0)
		return -1;
	if (memcmp(magic, "\177ELF", 4) == 0) {
		r = symtab_from_elf(ret, fd);
	} else {
		text = read_file(path, &length);
		if (!text)
			return -1;
		start = clock_ns(CLOCK_MONOTONIC);
		r = symtab_from_kallsyms(ret, (const char *)text, length, module);
	}
	*ret_ns = clock_ns(CLOCK_MONOTONIC) - start;
	return r;
}

int main(int argc, char **argv)
{
	cleanup(symtab_freep) struct symtab *s = NULL;
	uint64_t load_ns = 0, find_ns = 0, n = 0;
	char line[64];

	if (argc < 2 || load(argv[1], argv[2], &s, &load_ns) != SYMTAB_E_OK) {
		fprintf(stderr, "usage: symtab_tool FILE [MODULE], FILE with symbols\n");
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t address = strtoull(line, NULL, 16), start = clock_ns(CLOCK_MONOTONIC);
		struct symtab_symbol symbol;
		bool found = symtab_find(s, address, &symbol);

		find_ns += clock_ns(CLOCK_MONOTONIC) - start;
		n++;
		if (found)
			printf("%" PRIx64 " %" PRIx64 " %s\n", symbol.start, symbol.size,
			       symbol.name);
		else
			printf("-\n");
	}
	fprintf(stderr, "read in %.1f ms, holds %zu bytes, %" PRIu64 " look-ups of %.0f ns\n",
		(double)load_ns / 1e6, symtab_bytes(s), n, n ? (double)find_ns / (double)n : 0.0);
	return 0;
}
