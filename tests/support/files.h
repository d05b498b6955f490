/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_FILES_H
#define PROFD_TESTS_FILES_H

/*
 * Files, for the programs below tests/support: each of them is one source file, and what several
 * of them do is in headers.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"

#define FILES_VDSO_MAX 65536u

/* As profd does: images stay open, and each CPU has its events. */
static inline void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * The whole of a file, a NUL behind it; files in /proc have no size to ask for. NULL where it
 * cannot be opened (errno says why); without memory the program ends.
 */
static inline uint8_t *read_file(const char *path, size_t *ret_length)
{
	cleanup(fclosep) FILE *f = fopen(path, "re");
	uint8_t *data = NULL;
	size_t length = 0, size = 0, n;

	if (!f)
		return NULL;
	do {
		if (size - length < 65536) {
			size = size ? size * 2 : 1 << 20;
			data = realloc(data, size);
			if (!data)
				abort();
		}
		n = fread(data + length, 1, size - length - 1, f);
		length += n;
	} while (n);
	data[length] = '\0';
	*ret_length = length;
	return data;
}

/*
 * vdso(7) as a file: our own is that of every 64-bit process. Its section headers come last.
 * Returns an fd, or -1.
 */
static inline int copy_vdso(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	cleanup(closep) int fd = -1;
	size_t length;

	if (!header)
		return -1;
	length = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (length < sizeof(*header) || length > FILES_VDSO_MAX)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || write(fd, header, length) != (ssize_t)length)
		return -1;
	return steal_fd(&fd);
}

#endif
