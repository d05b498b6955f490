/* SPDX-License-Identifier: MIT */

/*
 * hostile_elf FOLDER: makes the folder, and in it each of hostile_elf.h's files under its name.
 * They take some 150 MB of disk, and claim some terabytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/support/hostile_elf.h"

int main(int argc, char **argv)
{
	cleanup(closep) int folder = -1;

	if (argc != 2) {
		fprintf(stderr, "usage: hostile_elf FOLDER\n");
		return 2;
	}
	if (mkdir(argv[1], 0755) < 0 && errno != EEXIST)
		perror(argv[1]);
	folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0) {
		perror(argv[1]);
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hostile_cases); i++) {
		int fd = openat(folder, hostile_cases[i].name,
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
		struct builder b;

		if (fd < 0) {
			perror(hostile_cases[i].name);
			return 1;
		}
		hostile_cases[i].make(&b);
		builder_write(&b, fd);
		builder_deinit(&b);
		close(fd);
	}
	return 0;
}
