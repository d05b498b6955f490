/* SPDX-License-Identifier: MIT */

/*
 * Read by hand and not through libelf, because a profiler opens thousands of files and this needs
 * one pread(2) for nearly all of them: the headers, and the build id that linkers put right behind
 * them, lie in the first page. Layouts and names: elf(5).
 */
#include "daemon/worker/elf/elf.h"

#include <elf.h>
#include <string.h>

#include "common/read_end.h"

#define HEAD_BYTES 4096 /* read at once */
/* Of a note segment only this much is searched: linkers merge notes, the build id among the first.
 */
#define NOTES_BYTES 4096
/* The kernel runs no file with more than 64 KiB of program headers (fs/binfmt_elf.c). */
#define PROGRAM_HEADERS_MAX (65536 / sizeof(Elf32_Phdr))
/* Section headers that are looked at. Linkers put notes first, or behind their program's tables. */
#define SECTIONS_MAX 64

/* Where the bytes come from: the first of a file, and, past them, the file itself if there is one.
 */
struct input {
	const uint8_t *head;
	size_t head_length;
	int fd; /* or -1 */
	bool swap;
	bool is_64;
};

/* Returns enum worker_outcome. */
static int elf_input_fetch(const struct input *in, uint64_t offset, size_t length, uint8_t *ret)
{
	ssize_t n;

	if (offset <= in->head_length && length <= in->head_length - offset) {
		memcpy(ret, in->head + offset, length);
		return WORKER_DONE;
	}
	if (in->fd < 0)
		return WORKER_MALFORMED;
	n = read_range(in->fd, ret, length, offset);
	if (n < 0)
		return WORKER_UNREADABLE;
	return (size_t)n == length ? WORKER_DONE : WORKER_MALFORMED;
}

static uint16_t elf_input_u16(const struct input *in, uint16_t value)
{
	return in->swap ? __builtin_bswap16(value) : value;
}

static uint32_t elf_input_u32(const struct input *in, uint32_t value)
{
	return in->swap ? __builtin_bswap32(value) : value;
}

static uint64_t elf_input_u64(const struct input *in, uint64_t value)
{
	return in->swap ? __builtin_bswap64(value) : value;
}

/* A table of headers. */
struct headers {
	uint64_t offset;
	unsigned n, size;
};

static int elf_parse_header(struct input *in, struct elf_summary *elf, struct headers *ret,
			    struct headers *ret_sections)
{
	union {
		uint8_t ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} h;
	int r;

	if (in->head_length < EI_NIDENT || memcmp(in->head, ELFMAG, SELFMAG) != 0)
		return WORKER_NOT_ELF;
	memcpy(h.ident, in->head, EI_NIDENT);
	if ((h.ident[EI_CLASS] != ELFCLASS32 && h.ident[EI_CLASS] != ELFCLASS64) ||
	    (h.ident[EI_DATA] != ELFDATA2LSB && h.ident[EI_DATA] != ELFDATA2MSB) ||
	    h.ident[EI_VERSION] != EV_CURRENT)
		return WORKER_MALFORMED;
	in->is_64 = h.ident[EI_CLASS] == ELFCLASS64;
	in->swap = (h.ident[EI_DATA] == ELFDATA2MSB) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	r = elf_input_fetch(in, 0, in->is_64 ? sizeof(h.e64) : sizeof(h.e32), h.ident);
	if (r)
		return r;
	/* Type and machine lie at the same place in both classes. */
	elf->type = elf_input_u16(in, h.e32.e_type);
	elf->machine = elf_input_u16(in, h.e32.e_machine);
	elf->pointer_bytes = in->is_64 ? 8 : 4;
	if (in->is_64) {
		*ret = (struct headers){elf_input_u64(in, h.e64.e_phoff),
					elf_input_u16(in, h.e64.e_phnum),
					elf_input_u16(in, h.e64.e_phentsize)};
		*ret_sections = (struct headers){elf_input_u64(in, h.e64.e_shoff),
						 elf_input_u16(in, h.e64.e_shnum),
						 elf_input_u16(in, h.e64.e_shentsize)};
	} else {
		*ret = (struct headers){elf_input_u32(in, h.e32.e_phoff),
					elf_input_u16(in, h.e32.e_phnum),
					elf_input_u16(in, h.e32.e_phentsize)};
		*ret_sections = (struct headers){elf_input_u32(in, h.e32.e_shoff),
						 elf_input_u16(in, h.e32.e_shnum),
						 elf_input_u16(in, h.e32.e_shentsize)};
	}
	if (ret->n > PROGRAM_HEADERS_MAX ||
	    (ret->n > 0 && ret->size != (in->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr))))
		return WORKER_MALFORMED;
	return WORKER_DONE;
}

/* One program header as the 64-bit structure, whatever the file's class. */
static int fetch_program_header(const struct input *in, uint64_t offset, Elf64_Phdr *ret)
{
	union {
		uint8_t bytes[sizeof(Elf64_Phdr)];
		Elf32_Phdr p32;
		Elf64_Phdr p64;
	} h;
	int r;

	r = elf_input_fetch(in, offset, in->is_64 ? sizeof(h.p64) : sizeof(h.p32), h.bytes);
	if (r)
		return r;
	if (in->is_64)
		*ret = (Elf64_Phdr){
			.p_type = elf_input_u32(in, h.p64.p_type),
			.p_flags = elf_input_u32(in, h.p64.p_flags),
			.p_offset = elf_input_u64(in, h.p64.p_offset),
			.p_vaddr = elf_input_u64(in, h.p64.p_vaddr),
			.p_filesz = elf_input_u64(in, h.p64.p_filesz),
			.p_memsz = elf_input_u64(in, h.p64.p_memsz),
		};
	else
		*ret = (Elf64_Phdr){
			.p_type = elf_input_u32(in, h.p32.p_type),
			.p_flags = elf_input_u32(in, h.p32.p_flags),
			.p_offset = elf_input_u32(in, h.p32.p_offset),
			.p_vaddr = elf_input_u32(in, h.p32.p_vaddr),
			.p_filesz = elf_input_u32(in, h.p32.p_filesz),
			.p_memsz = elf_input_u32(in, h.p32.p_memsz),
		};
	return WORKER_DONE;
}

/* Sums of what is kept must not wrap, so that nobody who uses it has to care. */
static int elf_summary_add_segment(struct elf_summary *elf, const Elf64_Phdr *p)
{
	if (elf->n_segments == ELF_SUMMARY_SEGMENTS_MAX)
		return WORKER_MALFORMED;
	if (p->p_filesz > p->p_memsz || p->p_offset > UINT64_MAX - p->p_filesz ||
	    p->p_vaddr > UINT64_MAX - p->p_memsz)
		return WORKER_MALFORMED;
	elf->segments[elf->n_segments++] = (struct elf_segment){
		.vaddr = p->p_vaddr,
		.offset = p->p_offset,
		.file_size = p->p_filesz,
		.memory_size = p->p_memsz,
		.executable = p->p_flags & PF_X,
	};
	return WORKER_DONE;
}

static int elf_read_build_id(const struct input *in, uint64_t offset, uint64_t size,
			     struct elf_summary *elf)
{
	uint8_t notes[NOTES_BYTES];
	size_t length = size < sizeof(notes) ? (size_t)size : sizeof(notes);
	int r;

	r = elf_input_fetch(in, offset, length, notes);
	if (r)
		return r;
	elf->build_id_length = elf_notes_build_id(notes, length, in->swap, elf->build_id);
	return WORKER_DONE;
}

/* Section header @i as the 64-bit structure: its type, offset and size. */
static bool elf_fetch_section(const struct input *in, const struct headers *sections, unsigned i,
			      Elf64_Shdr *ret)
{
	uint64_t at = sections->offset + (uint64_t)i * sections->size;
	union {
		uint8_t bytes[sizeof(Elf64_Shdr)];
		Elf32_Shdr s32;
		Elf64_Shdr s64;
	} h;

	if (elf_input_fetch(in, at, in->is_64 ? sizeof(h.s64) : sizeof(h.s32), h.bytes))
		return false;
	/* The type is at the same place in both classes. */
	ret->sh_type = elf_input_u32(in, h.s32.sh_type);
	ret->sh_offset = in->is_64 ? elf_input_u64(in, h.s64.sh_offset)
				   : elf_input_u32(in, h.s32.sh_offset);
	ret->sh_size = in->is_64 ? elf_input_u64(in, h.s64.sh_size)
				 : elf_input_u32(in, h.s32.sh_size);
	return true;
}

/*
 * Go's linker (1.24 and later) puts the build id into a section that no note segment holds. Nothing
 * that is wrong with section headers is an error: a program runs without them.
 */
static void elf_find_build_id_section(const struct input *in, const struct headers *sections,
				      struct elf_summary *elf)
{
	Elf64_Shdr sh;

	if (sections->size != (in->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return;
	for (unsigned i = 0; i < sections->n && i < SECTIONS_MAX && !elf->build_id_length; i++) {
		if (!elf_fetch_section(in, sections, i, &sh))
			return;
		if (sh.sh_type == SHT_NOTE)
			(void)elf_read_build_id(in, sh.sh_offset, sh.sh_size, elf);
	}
}

static int elf_summary_parse_input(struct input *in, struct elf_summary *ret)
{
	struct headers headers, sections;
	struct elf_summary elf = {0};
	int r;

	r = elf_parse_header(in, &elf, &headers, &sections);
	for (unsigned i = 0; r == WORKER_DONE && i < headers.n; i++) {
		uint64_t offset = headers.offset + (uint64_t)i * headers.size;
		Elf64_Phdr p;

		r = fetch_program_header(in, offset, &p);
		if (r)
			break;
		if (p.p_type == PT_LOAD)
			r = elf_summary_add_segment(&elf, &p);
		else if (p.p_type == PT_NOTE && p.p_filesz > 0 && elf.build_id_length == 0)
			r = elf_read_build_id(in, p.p_offset, p.p_filesz, &elf);
	}
	if (r == WORKER_DONE && !elf.build_id_length)
		elf_find_build_id_section(in, &sections, &elf);
	if (r == WORKER_DONE)
		*ret = elf;
	return r;
}

int elf_summary_read(int fd, struct elf_summary *ret)
{
	uint8_t head[HEAD_BYTES];
	struct input in = {.head = head, .fd = fd};
	ssize_t n;

	n = read_range(fd, head, sizeof(head), 0);
	if (n < 0)
		return WORKER_UNREADABLE;
	in.head_length = (size_t)n;
	return elf_summary_parse_input(&in, ret);
}

int elf_summary_parse(const uint8_t *data, size_t length, struct elf_summary *ret)
{
	struct input in = {.head = data, .head_length = length, .fd = -1};

	return elf_summary_parse_input(&in, ret);
}

bool elf_count_sections(int fd, const uint8_t *data, size_t length, uint64_t *ret)
{
	uint8_t head[sizeof(Elf64_Ehdr)];
	struct input in = {.head = data, .head_length = length, .fd = fd};
	struct headers headers, sections;
	struct elf_summary ignored;
	Elf64_Shdr first;
	ssize_t n;

	if (fd >= 0) {
		n = read_range(fd, head, sizeof(head), 0);
		in.head = head;
		in.head_length = n < 0 ? 0 : (size_t)n;
	}
	if (elf_parse_header(&in, &ignored, &headers, &sections))
		return false;
	*ret = sections.n;
	/* Then the first section, which is none, has the number as its size. */
	if (!sections.n && sections.offset && elf_fetch_section(&in, &sections, 0, &first))
		*ret = first.sh_size;
	return true;
}
