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

/* Go's linker counts the padding as well. */
static struct span elf_note_name(const uint8_t *at, uint32_t length)
{
	return (struct span){(const char *)at, strnlen((const char *)at, length)};
}

bool elf_notes_next(struct elf_notes *notes, struct elf_note *ret)
{
	size_t name_length, text_length, left;
	const uint8_t *at;
	Elf64_Nhdr note;

	if (notes->left < sizeof(note))
		return false;
	memcpy(&note, notes->at, sizeof(note));
	note.n_namesz = elf_note_u32(notes->swap, note.n_namesz);
	note.n_descsz = elf_note_u32(notes->swap, note.n_descsz);
	name_length = elf_note_pad(note.n_namesz);
	text_length = elf_note_pad(note.n_descsz);
	at = notes->at + sizeof(note);
	left = notes->left - sizeof(note);
	if (name_length > left || note.n_descsz > left - name_length)
		return false;
	ret->type = elf_note_u32(notes->swap, note.n_type);
	ret->name = elf_note_name(at, note.n_namesz);
	ret->text = (struct span){(const char *)at + name_length, note.n_descsz};
	/* The last note's padding may be missing. */
	left -= name_length;
	notes->left = text_length < left ? left - text_length : 0;
	notes->at = at + name_length + (text_length < left ? text_length : left);
	return true;
}

uint32_t elf_notes_build_id(const uint8_t *data, size_t length, bool swap,
			    uint8_t ret[ELF_BUILD_ID_MAX])
{
	struct elf_notes notes = {data, length, swap};
	struct elf_note note;

	while (elf_notes_next(&notes, &note)) {
		uint32_t n = (uint32_t)note.text.length;

		if (note.type != NT_GNU_BUILD_ID || !span_is(note.name, "GNU") || !n)
			continue;
		n = n < ELF_BUILD_ID_MAX ? n : ELF_BUILD_ID_MAX;
		memcpy(ret, note.text.at, n);
		return n;
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
