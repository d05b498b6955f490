/* SPDX-License-Identifier: MIT */

/* Any bytes as an ELF file: the summary of it in memory, the same from a descriptor, and the symbol
 * table. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/symbols/symtab.h"
#include "daemon/worker/elf/elf_image.h"
#include "tests/support/symtab_from_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_symbols(int fd)
{
	struct symtab *s = NULL;
	struct symtab_symbol symbol;

	if (symtab_from_elf(&s, fd) != SYMTAB_E_OK)
		return;
	for (uint64_t a = 0; a < 0x4000; a += 7)
		if (symtab_find(s, a, &symbol) &&
		    (symbol.start > a || a - symbol.start >= symbol.size || !symbol.name[0]))
			abort();
	symtab_find(s, UINT64_MAX, &symbol);
	symtab_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_summary pure, read;
	struct elf_image image;
	uint64_t a, b;
	uint8_t *copy;
	int fd, r;

	memset(&pure, 0, sizeof(pure));
	memset(&read, 0, sizeof(read));
	copy = malloc(size + 1);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	r = elf_image_open_memory(&image, copy, size, 0);
	pure = image.summary;
	elf_image_deinit(&image);
	free(copy);
	if (r == WORKER_DONE) {
		if (elf_summary_text(&pure, &a, &b) && a >= b)
			abort();
		for (uint32_t i = 0; i < pure.n_segments; i++)
			elf_summary_vaddr(&pure, pure.segments[i].offset, &a);
	}
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (elf_summary_read(fd, &read) != r || (!r && memcmp(&pure, &read, sizeof(pure)) != 0))
		abort();
	check_symbols(fd);
	close(fd);
	return 0;
}
