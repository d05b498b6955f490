/* SPDX-License-Identifier: MIT */
/*
 * Notes are parsed in place, in the file's byte order. Segments are the loaded program headers;
 * file offsets and addresses are converted into each other through the segment that has both.
 */
#include "common/symbols/elf_summary.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

static uint32_t elf_note_u32(bool swap, uint32_t value)
{
	return swap ? __builtin_bswap32(value) : value;
}

/* To the next multiple of four: notes are aligned so, and GNU's also where a segment asks for 8. */
static size_t elf_note_pad(uint32_t n)
{
	return ((size_t)n + 3) & ~(size_t)3;
}

uint32_t elf_notes_build_id(const uint8_t *data, size_t length, bool swap,
			    uint8_t ret[ELF_BUILD_ID_MAX])
{
	size_t at = 0;

	while (length - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name_length, text_length;

		memcpy(&note, data + at, sizeof(note));
		at += sizeof(note);
		note.n_namesz = elf_note_u32(swap, note.n_namesz);
		note.n_descsz = elf_note_u32(swap, note.n_descsz);
		name_length = elf_note_pad(note.n_namesz);
		text_length = elf_note_pad(note.n_descsz);
		/* The last note's padding may be missing. */
		if (name_length > length - at || note.n_descsz > length - at - name_length)
			return 0;
		if (elf_note_u32(swap, note.n_type) == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(data + at, ELF_NOTE_GNU, 4) == 0 && note.n_descsz > 0) {
			uint32_t n = note.n_descsz < ELF_BUILD_ID_MAX ? note.n_descsz
								      : ELF_BUILD_ID_MAX;

			memcpy(ret, data + at + name_length, n);
			return n;
		}
		if (text_length > length - at - name_length)
			return 0;
		at += name_length + text_length;
	}
	return 0;
}

bool elf_summary_add(struct elf_summary *elf, const Elf64_Phdr *p)
{
	if (elf->n_segments == ELF_SUMMARY_SEGMENTS_MAX || p->p_filesz > p->p_memsz ||
	    p->p_offset > UINT64_MAX - p->p_filesz || p->p_vaddr > UINT64_MAX - p->p_memsz)
		return false;
	elf->segments[elf->n_segments++] = (struct elf_segment){
		.vaddr = p->p_vaddr,
		.offset = p->p_offset,
		.file_size = p->p_filesz,
		.memory_size = p->p_memsz,
		.executable = p->p_flags & PF_X,
	};
	return true;
}

const struct elf_segment *elf_summary_find(const struct elf_summary *elf, uint64_t at,
					   bool is_address)
{
	const struct elf_segment *found = NULL;

	/* Code first: linkers may let the ranges of two segments share bytes of the file. */
	for (uint32_t i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];
		uint64_t start = is_address ? s->vaddr : s->offset;

		if (at >= start && at - start < s->file_size &&
		    (!found || (s->executable && !found->executable)))
			found = s;
	}
	return found;
}

bool elf_summary_vaddr(const struct elf_summary *elf, uint64_t offset, uint64_t *ret)
{
	const struct elf_segment *found = elf_summary_find(elf, offset, false);

	if (!found)
		return false;
	*ret = found->vaddr + (offset - found->offset);
	return true;
}

void elf_build_id_print(const uint8_t *id, size_t length, char ret[ELF_BUILD_ID_TEXT])
{
	ret[0] = '\0';
	for (size_t i = 0; i < length && i < ELF_BUILD_ID_MAX; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

bool elf_summary_text(const struct elf_summary *elf, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (uint32_t i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (!s->executable || s->memory_size == 0)
			continue;
		if (s->vaddr < start)
			start = s->vaddr;
		if (s->vaddr + s->memory_size > end)
			end = s->vaddr + s->memory_size;
	}
	if (end == 0)
		return false;
	*ret_start = start;
	*ret_end = end;
	return true;
}
