/* SPDX-License-Identifier: MIT */
#include "daemon/worker/code/code.h"

#include <errno.h>
#include <unistd.h>

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
	size_t done = 0;
	uint64_t at;

	if (!s)
		return 0;
	at = address - s->vaddr;
	if (s->file_size - at < max)
		max = (size_t)(s->file_size - at);
	at += s->offset;
	if (at > INT64_MAX || max > INT64_MAX - at)
		return 0;
	while (done < max) {
		ssize_t n = pread(fd, ret + done, max - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}
