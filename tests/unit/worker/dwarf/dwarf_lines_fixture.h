/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_WORKER_DWARF_DWARF_LINES_FIXTURE_H
#define PROFD_TESTS_UNIT_WORKER_DWARF_DWARF_LINES_FIXTURE_H

/*
 * Small ELF files with DWARF 4 that tests put together byte by byte. The program is 0x1000 bytes of
 * code at 0x1000; its unit says of itself to be all of that.
 */
#include <dwarf.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT_START 0x1000u
#define TEXT_SIZE  0x1000u

struct bytes {
	uint8_t data[65536];
	size_t n;
};

static inline void put(struct bytes *b, const void *data, size_t length)
{
	if (length > sizeof(b->data) - b->n)
		abort();
	memcpy(b->data + b->n, data, length);
	b->n += length;
}

static inline void put_number(struct bytes *b, uint64_t value, size_t length)
{
	put(b, &value, length); /* little-endian, as the file says it is */
}

static inline void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text) + 1);
}

/* Abbreviations by their numbers, in the order of their attributes. */
enum {
	A_END,
	A_UNIT,      /* name, directory: texts; stmt_list: 4; low 8, size 4 */
	A_ABSTRACT,  /* name, linkage name: texts; line: 1. No children */
	A_FUNCTION,  /* name: text; line: 1; low 8, size 4. Children */
	A_INLINED,   /* origin: 4 (offset in the unit); low 8, size 4; file 1, line 1. Children */
	A_DEFINES,   /* specification: 4; low 8, size 4. No children */
	A_BLOCK,     /* Children */
	A_NAMESPACE, /* name: text. Children */
	A_DECLARED,  /* specification: 4. No children */
	A_NAME_LAST, /* low 8, size 4; name: text. No children */
	A_ALTERNATE, /* name: 4, offset in the alternate file's texts; low 8, size 4. Children */
};

static inline void put_abbreviations(struct bytes *b)
{
	static const uint8_t abbreviations[] = {
		A_UNIT, DW_TAG_compile_unit, 1, DW_AT_name, DW_FORM_string, DW_AT_comp_dir,
		DW_FORM_string, DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr,
		DW_AT_high_pc, DW_FORM_data4, 0, 0,
		/* 0x6e is DW_AT_linkage_name */
		A_ABSTRACT, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_string, 0x6e, DW_FORM_string,
		DW_AT_decl_line, DW_FORM_data1, 0, 0,
		/**/
		A_FUNCTION, DW_TAG_subprogram, 1, DW_AT_name, DW_FORM_string, DW_AT_decl_line,
		DW_FORM_data1, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0, 0,
		/**/
		A_INLINED, DW_TAG_inlined_subroutine, 1, DW_AT_abstract_origin, DW_FORM_ref4,
		DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, DW_AT_call_file,
		DW_FORM_data1, DW_AT_call_line, DW_FORM_data1, 0, 0,
		/**/
		A_DEFINES, DW_TAG_subprogram, 0, DW_AT_specification, DW_FORM_ref4, DW_AT_low_pc,
		DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0, 0,
		/**/
		A_BLOCK, DW_TAG_lexical_block, 1, 0, 0,
		/**/
		A_NAMESPACE, DW_TAG_namespace, 1, DW_AT_name, DW_FORM_string, 0, 0,
		/**/
		A_DECLARED, DW_TAG_subprogram, 0, DW_AT_specification, DW_FORM_ref4, 0, 0,
		/**/
		A_NAME_LAST, DW_TAG_subprogram, 0, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
		DW_FORM_data4, DW_AT_name, DW_FORM_string, 0, 0,
		/* 0xa1 0x3e: DW_FORM_GNU_strp_alt */
		A_ALTERNATE, DW_TAG_subprogram, 1, DW_AT_name, 0xa1, 0x3e, DW_AT_low_pc,
		DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0, 0, 0};

	put(b, abbreviations, sizeof(abbreviations));
}

static inline void put_range(struct bytes *b, uint64_t start, uint64_t size)
{
	put_number(b, start, 8);
	put_number(b, size, 4);
}

/* The header of .debug_info and the unit's own DIE; its children and their A_END are to follow. */
static inline void put_unit(struct bytes *b, const char *dir)
{
	put_number(b, 0, 4); /* length: by finish_unit() */
	put_number(b, 4, 2);
	put_number(b, 0, 4);
	put_number(b, 8, 1);
	put_number(b, A_UNIT, 1);
	put_text(b, "a.c");
	put_text(b, dir);
	put_number(b, 0, 4);
	put_range(b, TEXT_START, TEXT_SIZE);
}

static inline void finish_unit(struct bytes *b)
{
	uint32_t length;

	put_number(b, A_END, 1);
	length = (uint32_t)b->n - 4;
	memcpy(b->data, &length, sizeof(length));
}

static inline void put_function(struct bytes *b, const char *name, uint8_t line, uint64_t start,
				uint64_t size)
{
	put_number(b, A_FUNCTION, 1);
	put_text(b, name);
	put_number(b, line, 1);
	put_range(b, start, size);
}

static inline void put_inlined(struct bytes *b, size_t origin, uint8_t file, uint8_t line,
			       uint64_t start, uint64_t size)
{
	put_number(b, A_INLINED, 1);
	put_number(b, origin, 4);
	put_range(b, start, size);
	put_number(b, file, 1);
	put_number(b, line, 1);
}

/* Returns its offset. */
static inline size_t put_abstract(struct bytes *b, const char *name, const char *linkage,
				  uint8_t line)
{
	size_t offset = b->n;

	put_number(b, A_ABSTRACT, 1);
	put_text(b, name);
	put_text(b, linkage);
	put_number(b, line, 1);
	return offset;
}

struct row {
	uint64_t address;
	uint8_t file, line; /* file 0: the end */
};

/* A line table with the files 1 "a.c" in the unit's directory, and 2 "sub/b.h". */
static inline void put_lines(struct bytes *b, const struct row *rows)
{
	static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	uint32_t length;

	put_number(b, 0, 4);
	put_number(b, 4, 2);
	put_number(b, 0, 4);
	put(b, "\x01\x01\x01\xfb\x0e\x0d", 6);
	put(b, lengths, sizeof(lengths));
	put(b, "sub\0", 5);
	put(b, "a.c\0\0\0\0b.h\0\1\0\0", 15);
	length = (uint32_t)b->n - 10;
	memcpy(b->data + 6, &length, sizeof(length));
	for (uint8_t line = 1;; line = rows++->line) {
		put(b, "\0\x09\x02", 3);
		put_number(b, rows->address, 8);
		if (!rows->file)
			break;
		put_number(b, DW_LNS_set_file, 1);
		put_number(b, rows->file, 1);
		put_number(b, DW_LNS_advance_line, 1);
		put_number(b, (uint64_t)(rows->line - line) & 0x7f, 1);
		put_number(b, DW_LNS_copy, 1);
	}
	put(b, "\0\x01\x01", 3);
	length = (uint32_t)b->n - 4;
	memcpy(b->data, &length, sizeof(length));
}

struct fixture_section {
	const char *name;
	const void *data;
	size_t length;
	uint64_t flags;
	uint32_t type; /* 0: SHT_PROGBITS */
};

/* @sections end with a NULL name. */
static inline void put_elf(struct bytes *b, uint16_t type, const struct fixture_section *sections)
{
	Elf64_Shdr headers[16] = {{0}};
	struct bytes *names = calloc(1, sizeof(*names));
	size_t n = 1, start = b->n;
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = type,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr text = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = TEXT_START,
		.p_memsz = TEXT_SIZE,
	};

	if (!names)
		abort();
	put(b, &header, sizeof(header));
	put(b, &text, sizeof(text));
	put_number(names, 0, 1);
	for (; sections->name; sections++, n++) {
		headers[n].sh_name = (uint32_t)names->n;
		headers[n].sh_type = sections->type ? sections->type : SHT_PROGBITS;
		headers[n].sh_flags = sections->flags;
		headers[n].sh_addralign = sections->type == SHT_NOTE ? 4 : 1;
		headers[n].sh_offset = b->n - start;
		headers[n].sh_size = sections->length;
		put_text(names, sections->name);
		put(b, sections->data, sections->length);
		put_number(b, 0, (size_t)-b->n % 8);
	}
	headers[n].sh_name = (uint32_t)names->n;
	headers[n].sh_type = SHT_STRTAB;
	headers[n].sh_offset = b->n - start;
	put_text(names, ".shstrtab");
	headers[n].sh_size = names->n;
	put(b, names->data, names->n);
	put_number(b, 0, (size_t)-b->n % 8);
	header.e_shoff = b->n - start;
	header.e_shstrndx = (uint16_t)n;
	header.e_shnum = (uint16_t)(n + 1);
	put(b, headers, (n + 1) * sizeof(headers[0]));
	memcpy(b->data + start, &header, sizeof(header));
	free(names);
}

static inline int memory_file(const void *data, size_t length)
{
	int fd = memfd_create("fixture", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, length) != (ssize_t)length)
		abort();
	return fd;
}

#endif
