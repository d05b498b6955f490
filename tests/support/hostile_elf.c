/* SPDX-License-Identifier: MIT */

/*
 * hostile_elf DIR: makes the directory, and in it each of hostile_elf.h's and
 * hostile_elf_dwarf*.h's files under its name. They take some 500 MB of disk, and claim some
 * terabytes. hostile_elf -k DIR: those of hostile_elf_killers.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/support/hostile_elf.h"
#include "tests/support/hostile_elf_killers.h"

static int make_all(int dir, const struct hostile_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup(closep) int fd = openat(dir, cases[i].name,
						O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
		struct builder b;

		if (fd < 0) {
			perror(cases[i].name);
			return 1;
		}
		cases[i].make(&b);
		builder_write(&b, fd);
		builder_deinit(&b);
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool killers = argc == 3 && strcmp(argv[1], "-k") == 0;
	const char *path = argv[argc - 1];
	cleanup(closep) int dir = -1;

	if (argc != 2 && !killers) {
		fprintf(stderr, "usage: hostile_elf [-k] FOLDER\n");
		return 2;
	}
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		perror(path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		perror(path);
		return 1;
	}
	if (killers)
		return make_all(dir, hostile_killers, ARRAY_SIZE(hostile_killers));
	return make_all(dir, hostile_cases, ARRAY_SIZE(hostile_cases)) ||
	       make_all(dir, hostile_dwarf_cases, ARRAY_SIZE(hostile_dwarf_cases));
}
