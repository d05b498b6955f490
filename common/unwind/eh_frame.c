/* SPDX-License-Identifier: MIT */
/*
 * Headers are copied and checked against the file's length first; then .eh_frame is found through
 * the section headers or, without them, through PT_GNU_EH_FRAME, and copied as a whole.
 */
#include "common/unwind/eh_frame.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/read_end.h"
#include "common/symbols/elf_summary.h"

/* The kernel runs no file with more than 64 KiB of program headers (fs/binfmt_elf.c). */
#define PROGRAM_HEADERS_MAX (65536 / sizeof(Elf64_Phdr))
/* With -ffunction-sections and without a linker script, programs have some tens. */
#define SECTION_HEADERS_MAX 4096
/* The longest names of interest are ".eh_frame_hdr" and ".debug_frame". */
#define SECTION_NAME_BYTES 16

/* A file or memory. */
struct eh_frame_image {
	int fd;
	const uint8_t *data; /* NULL: a file */
	uint64_t length;
};

/* A range of the file, and the link-time address of its first byte. */
struct part {
	uint64_t offset, length, address;
};

struct layout {
	struct elf_summary elf;           /* machine and segments */
	struct part frame, header, debug; /* length 0: there is none */
	uint64_t got_address;
};

/* Returns EH_FRAME_E_OK, _MALFORMED (the file ends before) or _UNREADABLE. */
static int eh_frame_fetch(const struct eh_frame_image *image, uint64_t offset, size_t length,
			  void *ret)
{
	ssize_t n;

	if (offset > image->length || length > image->length - offset)
		return EH_FRAME_E_MALFORMED;
	if (image->data) {
		memcpy(ret, image->data + offset, length);
		return EH_FRAME_E_OK;
	}
	n = read_range(image->fd, ret, length, offset);
	if (n < 0)
		return EH_FRAME_E_UNREADABLE;
	return (size_t)n == length ? EH_FRAME_E_OK : EH_FRAME_E_MALFORMED;
}

static int eh_frame_fetch_header(const struct eh_frame_image *image, Elf64_Ehdr *ret)
{
	bool ours = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	int r = eh_frame_fetch(image, 0, sizeof(*ret), ret);

	if (r)
		return r == EH_FRAME_E_MALFORMED ? EH_FRAME_E_NONE : r;
	/* Others have frame pointers or nothing: no walk can follow what they describe. */
	if (memcmp(ret->e_ident, ELFMAG, SELFMAG) != 0 || ret->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ret->e_ident[EI_DATA] != ELFDATA2LSB || !ours)
		return EH_FRAME_E_NONE;
	if (ret->e_type != ET_EXEC && ret->e_type != ET_DYN)
		return EH_FRAME_E_NONE;
	if (ret->e_phnum > PROGRAM_HEADERS_MAX ||
	    (ret->e_phnum && ret->e_phentsize != sizeof(Elf64_Phdr)))
		return EH_FRAME_E_MALFORMED;
	return EH_FRAME_E_OK;
}

/* Whether [start, start + length) stays within 64 bits. */
static bool eh_frame_range_wraps(uint64_t start, uint64_t length)
{
	return length > UINT64_MAX - start;
}

/* The loadable segments, and .eh_frame_hdr by its own. */
static int eh_frame_read_segments(const struct eh_frame_image *image, const Elf64_Ehdr *h,
				  struct layout *layout)
{
	for (unsigned i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr p;
		int r;

		if (eh_frame_range_wraps(h->e_phoff, (uint64_t)(i + 1) * sizeof(p)))
			return EH_FRAME_E_MALFORMED;
		r = eh_frame_fetch(image, h->e_phoff + i * sizeof(p), sizeof(p), &p);
		if (!r && p.p_type == PT_LOAD)
			r = elf_summary_add(&layout->elf, &p) ? EH_FRAME_E_OK
							      : EH_FRAME_E_MALFORMED;
		else if (!r && p.p_type == PT_GNU_EH_FRAME &&
			 !eh_frame_range_wraps(p.p_vaddr, p.p_filesz))
			layout->header = (struct part){p.p_offset, p.p_filesz, p.p_vaddr};
		if (r)
			return r;
	}
	return EH_FRAME_E_OK;
}

/* The name of section @s: its first bytes, cut. Empty if it cannot be had. */
static void eh_frame_fetch_name(const struct eh_frame_image *image, const Elf64_Shdr *names,
				const Elf64_Shdr *s, char ret[SECTION_NAME_BYTES])
{
	uint64_t rest;
	size_t n;

	memset(ret, 0, SECTION_NAME_BYTES);
	if (s->sh_name >= names->sh_size)
		return;
	rest = names->sh_size - s->sh_name;
	n = rest < SECTION_NAME_BYTES - 1 ? (size_t)rest : SECTION_NAME_BYTES - 1;
	if (eh_frame_range_wraps(names->sh_offset, names->sh_size) ||
	    eh_frame_fetch(image, names->sh_offset + s->sh_name, n, ret))
		memset(ret, 0, SECTION_NAME_BYTES);
}

static void eh_frame_match_section(const Elf64_Shdr *s, const char *name, struct layout *layout)
{
	struct part part = {s->sh_offset, s->sh_size, s->sh_addr};

	if (!s->sh_size || eh_frame_range_wraps(s->sh_addr, s->sh_size) ||
	    eh_frame_range_wraps(s->sh_offset, s->sh_size))
		return;
	if (!(s->sh_flags & SHF_ALLOC)) {
		if (!strcmp(name, ".debug_frame") && !layout->debug.length)
			layout->debug = part;
		return;
	}
	if (!strcmp(name, ".eh_frame") && !layout->frame.length)
		layout->frame = part;
	else if (!strcmp(name, ".eh_frame_hdr") && !layout->header.length)
		layout->header = part;
	/* What DT_PLTGOT says, and with it the runtime's base of DW_EH_PE_datarel. */
	else if (!strcmp(name, ".got.plt") || (!strcmp(name, ".got") && !layout->got_address))
		layout->got_address = s->sh_addr;
}

/* Nothing that is wrong with section headers is an error: a program runs without them. */
static int eh_frame_read_sections(const struct eh_frame_image *image, const Elf64_Ehdr *h,
				  struct layout *layout)
{
	uint64_t length = (uint64_t)h->e_shnum * sizeof(Elf64_Shdr);
	cleanup(freep) Elf64_Shdr *sections = NULL;

	if (!h->e_shnum || h->e_shnum > SECTION_HEADERS_MAX || h->e_shstrndx >= h->e_shnum ||
	    h->e_shentsize != sizeof(Elf64_Shdr) || eh_frame_range_wraps(h->e_shoff, length))
		return EH_FRAME_E_OK;
	sections = malloc(length);
	if (!sections)
		return error_origin(-ENOMEM);
	if (eh_frame_fetch(image, h->e_shoff, length, sections))
		return EH_FRAME_E_OK;
	for (unsigned i = 0; i < h->e_shnum; i++) {
		char name[SECTION_NAME_BYTES];

		/* One small read a section: only for those that can be meant. */
		if (sections[i].sh_type == SHT_NOBITS || sections[i].sh_flags & SHF_COMPRESSED ||
		    (!(sections[i].sh_flags & SHF_ALLOC) && sections[i].sh_type != SHT_PROGBITS))
			continue;
		eh_frame_fetch_name(image, &sections[h->e_shstrndx], &sections[i], name);
		eh_frame_match_section(&sections[i], name, layout);
	}
	return EH_FRAME_E_OK;
}

/*
 * .eh_frame by the pointer in .eh_frame_hdr: version 1, three encodings, then the pointer, which
 * every linker writes as 0x1b, signed 32 bits relative to itself. It ends where the segment does
 * at the latest: a terminator tells before.
 */
static int eh_frame_find_by_header(const struct eh_frame_image *image, struct layout *layout)
{
	const struct elf_segment *segment;
	uint8_t head[8];
	int32_t distance;
	uint64_t address, at;
	int r;

	if (layout->header.length < sizeof(head))
		return EH_FRAME_E_OK;
	r = eh_frame_fetch(image, layout->header.offset, sizeof(head), head);
	if (r)
		return r;
	if (head[0] != 1 || head[1] != 0x1b)
		return EH_FRAME_E_OK;
	memcpy(&distance, head + 4, sizeof(distance));
	address = layout->header.address + 4 + (uint64_t)(int64_t)distance;
	segment = elf_summary_find(&layout->elf, address, true);
	if (!segment)
		return EH_FRAME_E_MALFORMED;
	at = address - segment->vaddr;
	layout->frame = (struct part){segment->offset + at, segment->file_size - at, address};
	if (layout->frame.length > EH_FRAME_BYTES_MAX / 2)
		layout->frame.length = EH_FRAME_BYTES_MAX / 2;
	return EH_FRAME_E_OK;
}

/* Copies what @layout found. One piece of memory: segments, .eh_frame, .debug_frame. */
static int eh_frame_copy_sections(const struct eh_frame_image *image, const struct layout *layout,
				  struct eh_frame *ret)
{
	size_t segments = layout->elf.n_segments * sizeof(struct cfi_segment);
	size_t frame = (size_t)layout->frame.length, debug = (size_t)layout->debug.length, n = 0;
	cleanup(freep) uint8_t *memory = NULL;
	struct cfi_segment *executable;
	int r;

	if (layout->frame.length > EH_FRAME_BYTES_MAX)
		return EH_FRAME_E_TOO_BIG;
	/* Before memory is asked for: what the file does not have. */
	if (layout->frame.length > image->length)
		return EH_FRAME_E_MALFORMED;
	if (debug > EH_FRAME_BYTES_MAX - frame || debug > image->length)
		debug = 0;
	memory = malloc(segments + frame + debug + 1);
	if (!memory)
		return error_origin(-ENOMEM);
	executable = (struct cfi_segment *)(void *)memory;
	for (uint32_t i = 0; i < layout->elf.n_segments; i++) {
		const struct elf_segment *from = &layout->elf.segments[i];

		if (from->executable)
			executable[n++] = (struct cfi_segment){
				.address = from->vaddr,
				.offset = from->offset,
				.length = from->file_size,
			};
	}
	r = eh_frame_fetch(image, layout->frame.offset, frame, memory + segments);
	if (r)
		return r;
	if (eh_frame_fetch(image, layout->debug.offset, debug, memory + segments + frame))
		debug = 0;
	ret->input = (struct cfi_input){
		.machine = layout->elf.machine,
		.frame = {memory + segments, frame + debug, layout->frame.address},
		.debug_length = debug,
		.got_address = layout->got_address,
		.segments = executable,
		.n_segments = n,
	};
	ret->memory = steal_ptr(&memory);
	return EH_FRAME_E_OK;
}

static int eh_frame_read_image(const struct eh_frame_image *image, struct eh_frame *ret)
{
	struct layout layout = {0};
	Elf64_Ehdr header;
	int r = eh_frame_fetch_header(image, &header);

	if (r)
		return r;
	layout.elf.machine = header.e_machine;
	r = eh_frame_read_segments(image, &header, &layout)
		    ?: eh_frame_read_sections(image, &header, &layout);
	if (r)
		return r;
	if (!layout.frame.length) {
		r = eh_frame_find_by_header(image, &layout);
		if (r)
			return r;
	}
	return eh_frame_copy_sections(image, &layout, ret);
}

int eh_frame_read(int fd, struct eh_frame *ret)
{
	struct eh_frame_image image = {.fd = fd};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return EH_FRAME_E_UNREADABLE;
	image.length = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	return eh_frame_read_image(&image, ret);
}

bool eh_frame_read_code(const void *fd, uint32_t offset, void *ret, size_t length)
{
	return read_range(*(const int *)fd, ret, length, offset) == (ssize_t)length;
}

int eh_frame_parse(const uint8_t *data, size_t length, struct eh_frame *ret)
{
	const struct eh_frame_image image = {.data = data, .length = data ? length : 0};

	return eh_frame_read_image(&image, ret);
}

void eh_frame_deinit(struct eh_frame *frame)
{
	free(frame->memory);
	*frame = (struct eh_frame){0};
}
