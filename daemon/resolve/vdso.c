/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/vdso.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/worker/debug_files.h"

/* It is some pages. */
#define BYTES_MAX (1u << 20)

/*
 * The whole file is mapped (arch/x86/entry/vdso/vma.c, arch/arm64/kernel/vdso.c). Its section
 * headers come last; one without them ends with its segments.
 */
static uint64_t file_length(const ElfW(Ehdr) * header)
{
	const ElfW(Phdr) *segments = (const void *)((const char *)header + header->e_phoff);
	uint64_t end = 0;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	for (unsigned i = 0; i < header->e_phnum; i++)
		end = MAX(end, segments[i].p_offset + segments[i].p_filesz);
	return MAX(end, header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize);
}

int vdso_open(void)
{
	const void *data = (const void *)getauxval(AT_SYSINFO_EHDR);
	uint64_t length = data ? file_length(data) : 0;
	cleanup(closep) int fd = -1;

	if (!length || length > BYTES_MAX)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, length) != (ssize_t)length)
		return -1;
	return debug_files_reopen(fd);
}
