/* SPDX-License-Identifier: MIT */
#include "daemon/worker/code/code.h"

#include "common/read_end.h"

static const struct elf_segment *code_find_segment(const struct elf_summary *elf, uint64_t address)
{
	const struct elf_segment *found = NULL;

	for (uint32_t i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (address >= s->vaddr && address - s->vaddr < s->file_size &&
		    (!found || (s->executable && !found->executable)))
			found = s;
	}
	return found;
}

size_t code_read(int fd, const struct elf_summary *elf, uint64_t address, uint8_t *ret, size_t max)
{
	const struct elf_segment *s = code_find_segment(elf, address);
	ssize_t n;

	if (!s)
		return 0;
	address -= s->vaddr;
	if (s->file_size - address < max)
		max = (size_t)(s->file_size - address);
	n = read_range(fd, ret, max, s->offset + address);
	return n < 0 ? 0 : (size_t)n;
}
