/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_HOSTILE_ELF_BUILDER_H
#define PROFD_TESTS_HOSTILE_ELF_BUILDER_H

/*
 * Makes 64-bit little-endian ELF files piece by piece, also such as no linker would make. Sections
 * lie where they were added, behind room for the headers; link-time addresses are file offsets.
 * Whatever else is wanted is changed in the headers before builder_finish(), or in the bytes after.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"

#define BUILDER_SEGMENTS_MAX 12
#define BUILDER_SECTIONS_MAX 32
#define BUILDER_FIRST        1024 /* offset of the first section */

struct builder {
	uint8_t *data;
	size_t n, n_allocated;
	Elf64_Ehdr header;
	Elf64_Phdr segments[BUILDER_SEGMENTS_MAX];
	Elf64_Shdr sections[BUILDER_SECTIONS_MAX];
	char names[1024]; /* of sections */
	size_t n_names;
	bool no_sections; /* leave the section headers out */
	uint64_t length;  /* of the file, if it is to end in a hole; 0: as much as there is */
};

static inline void builder_init(struct builder *b)
{
	memset(b, 0, sizeof(*b));
	memcpy(b->header.e_ident, ELFMAG, SELFMAG);
	b->header.e_ident[EI_CLASS] = ELFCLASS64;
	b->header.e_ident[EI_DATA] = ELFDATA2LSB;
	b->header.e_ident[EI_VERSION] = EV_CURRENT;
	b->header.e_type = ET_DYN;
	b->header.e_machine = EM_X86_64;
	b->header.e_version = EV_CURRENT;
	b->header.e_ehsize = sizeof(Elf64_Ehdr);
	b->header.e_phentsize = sizeof(Elf64_Phdr);
	b->header.e_shentsize = sizeof(Elf64_Shdr);
	b->header.e_phoff = sizeof(Elf64_Ehdr);
	b->header.e_shnum = 1;
	b->n_names = 1;
	b->n = BUILDER_FIRST;
	b->n_allocated = 65536;
	b->data = calloc(1, b->n_allocated);
	if (!b->data)
		abort();
}

static inline void builder_deinit(struct builder *b)
{
	free(b->data);
}

/* Room for @length bytes of zeros, aligned to 16; its offset. */
static inline size_t builder_room(struct builder *b, size_t length)
{
	size_t at = (b->n + 15) & ~(size_t)15, n = b->n_allocated;

	while (n - at < length || n < at)
		n *= 2;
	if (n != b->n_allocated) {
		uint8_t *data = realloc(b->data, n);

		if (!data)
			abort();
		memset(data + b->n_allocated, 0, n - b->n_allocated);
		b->data = data;
		b->n_allocated = n;
	}
	b->n = at + length;
	return at;
}

/*
 * Adds a section with a copy of @data (NULL: zeros), of @length bytes; the rest as in @header, but
 * for the offset, the address if it is 0, and the size if it is 0. Returns its number.
 */
static inline unsigned builder_section(struct builder *b, const char *name,
				       const Elf64_Shdr *header, const void *data, size_t length)
{
	unsigned i = b->header.e_shnum++;
	Elf64_Shdr *s = &b->sections[i];
	size_t at = builder_room(b, length);

	if (i >= BUILDER_SECTIONS_MAX || b->n_names + strlen(name) + 1 > sizeof(b->names))
		abort();
	if (data)
		memcpy(b->data + at, data, length);
	*s = *header;
	s->sh_name = (Elf64_Word)b->n_names;
	s->sh_offset = at;
	if (!s->sh_size)
		s->sh_size = length;
	if (!s->sh_addr && (s->sh_flags & SHF_ALLOC))
		s->sh_addr = at;
	strcpy(b->names + b->n_names, name);
	b->n_names += strlen(name) + 1;
	return i;
}

/* The bytes of a section, until another one is added. */
static inline void *builder_at(struct builder *b, unsigned section)
{
	return b->data + b->sections[section].sh_offset;
}

static inline Elf64_Phdr *builder_segment(struct builder *b, uint32_t type, uint32_t flags,
					  uint64_t offset, uint64_t length)
{
	Elf64_Phdr *p = &b->segments[b->header.e_phnum++];

	if (b->header.e_phnum > BUILDER_SEGMENTS_MAX)
		abort();
	*p = (Elf64_Phdr){.p_type = type,
			  .p_flags = flags,
			  .p_offset = offset,
			  .p_vaddr = offset,
			  .p_filesz = length,
			  .p_memsz = length};
	return p;
}

struct builder_symbol {
	const char *name;
	uint64_t value, size;
	uint8_t info;
	uint16_t section;
};

#define BUILDER_FUNC  ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define BUILDER_LOCAL ELF64_ST_INFO(STB_LOCAL, STT_FUNC)

/* A table of symbols, the null symbol first, and behind it its names. Returns the table. */
static inline unsigned builder_symbols(struct builder *b, const char *name, uint32_t type,
				       const struct builder_symbol *symbols, size_t n)
{
	Elf64_Xword flags = type == SHT_DYNSYM ? SHF_ALLOC : 0;
	size_t n_names = 1, at = 1;
	Elf64_Sym *table = calloc(n + 1, sizeof(*table));
	unsigned i;
	char *names;

	for (size_t k = 0; k < n; k++)
		n_names += strlen(symbols[k].name) + 1;
	names = calloc(1, n_names);
	if (!names || !table)
		abort();
	for (size_t k = 0; k < n; k++) {
		table[k + 1] = (Elf64_Sym){.st_name = (Elf64_Word)at,
					   .st_value = symbols[k].value,
					   .st_size = symbols[k].size,
					   .st_info = symbols[k].info,
					   .st_shndx = symbols[k].section};
		strcpy(names + at, symbols[k].name);
		at += strlen(symbols[k].name) + 1;
	}
	i = builder_section(b, name,
			    &(Elf64_Shdr){.sh_type = type,
					  .sh_flags = flags,
					  .sh_link = b->header.e_shnum + 1u,
					  .sh_entsize = sizeof(*table),
					  .sh_addralign = 8},
			    table, (n + 1) * sizeof(*table));
	builder_section(b, type == SHT_DYNSYM ? ".dynstr" : ".strtab",
			&(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_flags = flags, .sh_addralign = 1},
			names, n_names);
	free(names);
	free(table);
	return i;
}

/* Code, section 1 of all files here that have any, and the segment that it is in. */
static inline unsigned builder_text(struct builder *b, size_t length)
{
	unsigned i = builder_section(b, ".text",
				     &(Elf64_Shdr){.sh_type = SHT_PROGBITS,
						   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						   .sh_addralign = 16},
				     NULL, length);

	builder_segment(b, PT_LOAD, PF_R | PF_X, b->sections[i].sh_offset, length);
	return i;
}

/* PT_NOTE with a build id of 20 times @id, as a section as well. */
static inline void builder_build_id(struct builder *b, uint8_t id)
{
	uint32_t note[9] = {4, 20, NT_GNU_BUILD_ID};
	unsigned i;

	memcpy(&note[3], "GNU", 4);
	memset(&note[4], id, 20);
	i = builder_section(b, ".note.gnu.build-id",
			    &(Elf64_Shdr){.sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC}, note,
			    sizeof(note));
	builder_segment(b, PT_NOTE, PF_R, b->sections[i].sh_offset, sizeof(note));
}

/* Writes the headers. The sections' names are a section too, the last one. */
static inline void builder_finish(struct builder *b)
{
	if (!b->no_sections) {
		size_t at, n;

		b->header.e_shstrndx = b->header.e_shnum;
		builder_section(b, ".shstrtab",
				&(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1}, b->names,
				b->n_names + sizeof(".shstrtab"));
		n = b->header.e_shnum * sizeof(Elf64_Shdr);
		at = builder_room(b, n);
		memcpy(b->data + at, b->sections, n);
		memcpy(b->data + b->sections[b->header.e_shstrndx].sh_offset, b->names, b->n_names);
		b->header.e_shoff = at;
	} else {
		b->header.e_shnum = 0;
		b->header.e_shentsize = 0;
	}
	memcpy(b->data, &b->header, sizeof(b->header));
	memcpy(b->data + b->header.e_phoff, b->segments, sizeof(b->segments));
}

/* The header in the file, to be spoilt after builder_finish(). */
static inline Elf64_Ehdr *builder_header(struct builder *b)
{
	return (Elf64_Ehdr *)(void *)b->data;
}

static inline Elf64_Shdr *builder_section_header(struct builder *b, unsigned i)
{
	return (Elf64_Shdr *)(void *)(b->data + b->header.e_shoff) + i;
}

/* The file at @fd, which is empty. */
static inline void builder_write(const struct builder *b, int fd)
{
	for (size_t n = 0; n < b->n;) {
		ssize_t r = write(fd, b->data + n, b->n - n);

		if (r <= 0) {
			perror("write");
			abort();
		}
		n += (size_t)r;
	}
	if (b->length && ftruncate(fd, (off_t)b->length) < 0) {
		perror("ftruncate");
		abort();
	}
}

static inline int builder_memfd(const struct builder *b)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	builder_write(b, fd);
	return fd;
}

/* A file by its name. */
struct hostile_case {
	const char *name;
	void (*make)(struct builder *b); /* initializes it as well */
};

/* --- what hostile files begin with --------------------------------------------------------------
 */

#define HOSTILE_MILLION 1000000u
#define HOSTILE_BOMB    (300u << 20) /* bytes of zeros, more than a reader should take */
#define HOSTILE_TERA    (1ull << 40)

static const struct builder_symbol hostile_functions[] = {
	{"first", BUILDER_FIRST, 0x40, BUILDER_FUNC, 1},
	{"second", BUILDER_FIRST + 0x40, 0x40, BUILDER_LOCAL, 1},
	{"third", BUILDER_FIRST + 0x80, 0, BUILDER_FUNC, 1},
};

/* An honest file to spoil: code, .symtab (section 2) and .strtab (3), a build id. */
static inline void hostile_base(struct builder *b)
{
	builder_init(b);
	builder_text(b, 0x100);
	builder_symbols(b, ".symtab", SHT_SYMTAB, hostile_functions, ARRAY_SIZE(hostile_functions));
	builder_build_id(b, 0xab);
}

#endif
