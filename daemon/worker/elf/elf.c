/* SPDX-License-Identifier: MIT */

/*
 * Read by hand and not through libelf, because a profiler opens thousands of files and this needs
 * one pread(2) for nearly all of them: the headers, and the build id that linkers put right behind
 * them, lie in the first page. Layouts and names: elf(5).
 */
#include "daemon/worker/elf/elf.h"

#include <elf.h>
#include <string.h>

#include "common/bytes.h"
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

static uint64_t elf_input_number(const struct input *in, const uint8_t *at, size_t n_bytes)
{
	return bytes_number(at, n_bytes, in->swap != BYTES_HOST_IS_BIG);
}

/* The size of a structure, and a field of one at @at, of the file's class. */
#define STRUCT_SIZE(in, name) ((in)->is_64 ? sizeof(Elf64_##name) : sizeof(Elf32_##name))
#define FIELD(in, at, name, field)                                                  \
	((in)->is_64 ? elf_input_number((in), (at) + offsetof(Elf64_##name, field), \
					sizeof(((Elf64_##name *)NULL)->field))      \
		     : elf_input_number((in), (at) + offsetof(Elf32_##name, field), \
					sizeof(((Elf32_##name *)NULL)->field)))

/* A table of headers. */
struct headers {
	uint64_t offset;
	unsigned n, size;
};

static int elf_parse_header(struct input *in, struct elf_summary *elf, struct headers *ret,
			    struct headers *ret_sections)
{
	uint8_t h[sizeof(Elf64_Ehdr)];
	int r;

	if (in->head_length < EI_NIDENT || memcmp(in->head, ELFMAG, SELFMAG) != 0)
		return WORKER_NOT_ELF;
	memcpy(h, in->head, EI_NIDENT);
	if ((h[EI_CLASS] != ELFCLASS32 && h[EI_CLASS] != ELFCLASS64) ||
	    (h[EI_DATA] != ELFDATA2LSB && h[EI_DATA] != ELFDATA2MSB) || h[EI_VERSION] != EV_CURRENT)
		return WORKER_MALFORMED;
	in->is_64 = h[EI_CLASS] == ELFCLASS64;
	in->swap = (h[EI_DATA] == ELFDATA2MSB) != BYTES_HOST_IS_BIG;
	r = elf_input_fetch(in, 0, STRUCT_SIZE(in, Ehdr), h);
	if (r)
		return r;
	elf->type = (uint16_t)FIELD(in, h, Ehdr, e_type);
	elf->machine = (uint16_t)FIELD(in, h, Ehdr, e_machine);
	elf->pointer_bytes = in->is_64 ? 8 : 4;
	*ret = (struct headers){FIELD(in, h, Ehdr, e_phoff), (unsigned)FIELD(in, h, Ehdr, e_phnum),
				(unsigned)FIELD(in, h, Ehdr, e_phentsize)};
	*ret_sections = (struct headers){FIELD(in, h, Ehdr, e_shoff),
					 (unsigned)FIELD(in, h, Ehdr, e_shnum),
					 (unsigned)FIELD(in, h, Ehdr, e_shentsize)};
	if (ret->n > PROGRAM_HEADERS_MAX || (ret->n > 0 && ret->size != STRUCT_SIZE(in, Phdr)))
		return WORKER_MALFORMED;
	return WORKER_DONE;
}

/* One program header as the 64-bit structure, whatever the file's class. */
static int elf_fetch_program_header(const struct input *in, uint64_t offset, Elf64_Phdr *ret)
{
	uint8_t h[sizeof(Elf64_Phdr)];
	int r = elf_input_fetch(in, offset, STRUCT_SIZE(in, Phdr), h);

	if (r)
		return r;
	*ret = (Elf64_Phdr){
		.p_type = (uint32_t)FIELD(in, h, Phdr, p_type),
		.p_flags = (uint32_t)FIELD(in, h, Phdr, p_flags),
		.p_offset = FIELD(in, h, Phdr, p_offset),
		.p_vaddr = FIELD(in, h, Phdr, p_vaddr),
		.p_filesz = FIELD(in, h, Phdr, p_filesz),
		.p_memsz = FIELD(in, h, Phdr, p_memsz),
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
	int r = elf_input_fetch(in, offset, length, notes);

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
	uint8_t h[sizeof(Elf64_Shdr)];

	if (elf_input_fetch(in, at, STRUCT_SIZE(in, Shdr), h))
		return false;
	ret->sh_type = (uint32_t)FIELD(in, h, Shdr, sh_type);
	ret->sh_offset = FIELD(in, h, Shdr, sh_offset);
	ret->sh_size = FIELD(in, h, Shdr, sh_size);
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

	if (sections->size != STRUCT_SIZE(in, Shdr))
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
	int r = elf_parse_header(in, &elf, &headers, &sections);

	for (unsigned i = 0; r == WORKER_DONE && i < headers.n; i++) {
		uint64_t offset = headers.offset + (uint64_t)i * headers.size;
		Elf64_Phdr p;

		r = elf_fetch_program_header(in, offset, &p);
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
