/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_HOSTILE_ELF_DWARF_BUILDER_H
#define PROFD_TESTS_HOSTILE_ELF_DWARF_BUILDER_H

/*
 * Makes the sections of DWARF 4 and 5 byte by byte, for hostile_elf_dwarf*.h. Every file has code,
 * DWARF_CODE_SIZE bytes of it, and one table of abbreviations that all units share; a case adds
 * its own behind them.
 */
#include <dwarf.h>

#include "tests/support/hostile_elf_packed.h"

#define DWARF_CODE_SIZE 0x1000u

struct dwarf_bytes {
	uint8_t *data;
	size_t n, size;
};

static inline void dwarf_fill(struct dwarf_bytes *b, uint8_t byte, size_t n)
{
	if (b->size - b->n < n) {
		b->size = 2 * (b->n + n) + 4096;
		b->data = realloc(b->data, b->size);
		if (!b->data)
			abort();
	}
	memset(b->data + b->n, byte, n);
	b->n += n;
}

static inline void dwarf_put(struct dwarf_bytes *b, const void *data, size_t n)
{
	dwarf_fill(b, 0, n);
	memcpy(b->data + b->n - n, data, n);
}

#define DWARF_PUT(b, ...) \
	dwarf_put(b, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void dwarf_number(struct dwarf_bytes *b, uint64_t value, size_t n)
{
	dwarf_put(b, &value, n); /* little-endian, as the file says it is */
}

static inline void dwarf_uleb(struct dwarf_bytes *b, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		dwarf_number(b, (value & 0x7f) | 0x80, 1);
	dwarf_number(b, value, 1);
}

static inline void dwarf_text(struct dwarf_bytes *b, const char *text)
{
	dwarf_put(b, text, strlen(text) + 1);
}

struct dwarf_file {
	struct dwarf_bytes info, abbreviations, line, ranges, rnglists, str, aranges, types;
	const char *compressed; /* the section that is; NULL: none */
	size_t zeros;           /* chunks of 64 KiB that it becomes: what it has, and zeros */
	uint64_t claim;         /* bytes that it says it becomes; 0: as many as it does */
};

/* Abbreviations by number, in the order of their attributes. */
enum {
	D_END,
	D_UNIT,          /* stmt_list: 4; low, high: range. Children */
	D_UNIT_RANGES,   /* ranges: 4. Children */
	D_UNIT_BARE,     /* nothing, no children */
	D_PARTIAL,       /* nothing, no children */
	D_FUNCTION,      /* name: text; range. Children */
	D_FUNCTION_LEAF, /* the same. No children */
	D_FUNCTION_MANY, /* ranges: 4. No children */
	D_ORIGIN,        /* origin: 4, in the unit. No children */
	D_DECLARED,      /* specification: 4, in .debug_info. No children */
	D_INLINED,       /* origin: 4, in the unit; range; call file, line: 1. Children */
	D_INLINED_LEAF,  /* the same. No children */
	D_BLOCK,         /* nothing. Children */
	D_SIBLING,       /* sibling: 4, in the unit. Children */
	D_NAMED,         /* name: text. No children */
	N_D,
};

#define D_RANGE DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8
#define D_INLINED_ATTRS                                                               \
	DW_AT_abstract_origin, DW_FORM_ref4, D_RANGE, DW_AT_call_file, DW_FORM_data1, \
		DW_AT_call_line, DW_FORM_data1

/* Number, tag, whether it has children, and attributes with their forms. */
#define ABBREVIATION(...) __VA_ARGS__, 0, 0

static inline void dwarf_begin(struct dwarf_file *f)
{
	static const uint8_t abbreviations[] = {
		ABBREVIATION(D_UNIT, DW_TAG_compile_unit, 1, DW_AT_stmt_list, DW_FORM_sec_offset,
			     D_RANGE),
		ABBREVIATION(D_UNIT_RANGES, DW_TAG_compile_unit, 1, DW_AT_ranges,
			     DW_FORM_sec_offset),
		ABBREVIATION(D_UNIT_BARE, DW_TAG_compile_unit, 0),
		ABBREVIATION(D_PARTIAL, DW_TAG_partial_unit, 0),
		ABBREVIATION(D_FUNCTION, DW_TAG_subprogram, 1, DW_AT_name, DW_FORM_string, D_RANGE),
		ABBREVIATION(D_FUNCTION_LEAF, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_string,
			     D_RANGE),
		ABBREVIATION(D_FUNCTION_MANY, DW_TAG_subprogram, 0, DW_AT_ranges,
			     DW_FORM_sec_offset),
		ABBREVIATION(D_ORIGIN, DW_TAG_subprogram, 0, DW_AT_abstract_origin, DW_FORM_ref4),
		ABBREVIATION(D_DECLARED, DW_TAG_subprogram, 0, DW_AT_specification,
			     DW_FORM_ref_addr),
		ABBREVIATION(D_INLINED, DW_TAG_inlined_subroutine, 1, D_INLINED_ATTRS),
		ABBREVIATION(D_INLINED_LEAF, DW_TAG_inlined_subroutine, 0, D_INLINED_ATTRS),
		ABBREVIATION(D_BLOCK, DW_TAG_lexical_block, 1),
		ABBREVIATION(D_SIBLING, DW_TAG_lexical_block, 1, DW_AT_sibling, DW_FORM_ref4),
		ABBREVIATION(D_NAMED, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_string),
	};

	*f = (struct dwarf_file){0};
	dwarf_put(&f->abbreviations, abbreviations, sizeof(abbreviations));
}

static inline void dwarf_range(struct dwarf_bytes *b, uint64_t start, uint64_t size)
{
	dwarf_number(b, start, 8);
	dwarf_number(b, size, 8);
}

/* A unit's header. Returns where it begins, for dwarf_unit_end(). */
static inline size_t dwarf_unit(struct dwarf_bytes *b, unsigned version)
{
	size_t begin = b->n;

	dwarf_number(b, 0, 4);
	dwarf_number(b, version, 2);
	if (version >= 5)
		dwarf_number(b, DW_UT_compile | 8 << 8, 2);
	dwarf_number(b, 0, 4);
	if (version < 5)
		dwarf_number(b, 8, 1);
	return begin;
}

/* The header and a DIE that says that the unit is all of the code. */
static inline size_t dwarf_unit_of_all(struct dwarf_bytes *b, unsigned version)
{
	size_t begin = dwarf_unit(b, version);

	dwarf_number(b, D_UNIT, 1);
	dwarf_number(b, 0, 4);
	dwarf_range(b, BUILDER_FIRST, DWARF_CODE_SIZE);
	return begin;
}

/* Ends the unit's DIE and the unit. */
static inline void dwarf_unit_end(struct dwarf_bytes *b, size_t begin)
{
	uint32_t length;

	dwarf_number(b, D_END, 1);
	length = (uint32_t)(b->n - begin - 4);
	memcpy(b->data + begin, &length, sizeof(length));
}

static inline void dwarf_function(struct dwarf_bytes *b, unsigned abbreviation, const char *name,
				  uint64_t start, uint64_t size)
{
	dwarf_number(b, abbreviation, 1);
	dwarf_text(b, name);
	dwarf_range(b, start, size);
}

static inline void dwarf_inlined(struct dwarf_bytes *b, unsigned abbreviation, size_t origin)
{
	dwarf_number(b, abbreviation, 1);
	dwarf_number(b, origin, 4);
	dwarf_range(b, BUILDER_FIRST, 16);
	dwarf_number(b, 1, 1);
	dwarf_number(b, 7, 1);
}

/* What a line table of version 4 says before its directories and files. */
struct dwarf_line_header {
	uint8_t instruction_length, operations, line_range, opcode_base;
};

#define DWARF_LINE_HEADER ((struct dwarf_line_header){1, 1, 14, 13})

/* Returns where it begins, for dwarf_line_files_end(); directories and files are to follow. */
static inline size_t dwarf_line(struct dwarf_bytes *b, const struct dwarf_line_header *header)
{
	static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	size_t begin = b->n;

	dwarf_number(b, 0, 4);
	dwarf_number(b, 4, 2);
	dwarf_number(b, 0, 4);
	dwarf_number(b, header->instruction_length, 1);
	dwarf_number(b, header->operations, 1);
	dwarf_number(b, 1, 1);
	dwarf_number(b, 0xfb, 1); /* line base -5 */
	dwarf_number(b, header->line_range, 1);
	dwarf_number(b, header->opcode_base, 1);
	dwarf_put(b, lengths, sizeof(lengths));
	return begin;
}

/* The program begins, with the first row's address. */
static inline void dwarf_line_files_end(struct dwarf_bytes *b, size_t begin)
{
	uint32_t length = (uint32_t)(b->n - begin - 10);

	memcpy(b->data + begin + 6, &length, sizeof(length));
	dwarf_put(b, "\0\x09\x02", 3);
	dwarf_number(b, BUILDER_FIRST, 8);
	dwarf_number(b, DW_LNS_copy, 1);
}

/* The code of @size bytes ends, and the program. */
static inline void dwarf_line_end(struct dwarf_bytes *b, size_t begin, uint64_t size)
{
	uint32_t length;

	dwarf_number(b, DW_LNS_advance_pc, 1);
	dwarf_uleb(b, size);
	dwarf_put(b, "\0\1\1", 3);
	length = (uint32_t)(b->n - begin - 4);
	memcpy(b->data + begin, &length, sizeof(length));
}

/* No directory, one file "a.c", in directory @dir; the whole table but for its program. */
static inline size_t dwarf_line_plain(struct dwarf_bytes *b, uint64_t dir)
{
	size_t begin = dwarf_line(b, &DWARF_LINE_HEADER);

	dwarf_number(b, 0, 1);
	dwarf_text(b, "a.c");
	dwarf_uleb(b, dir);
	dwarf_put(b, "\0\0\0", 3);
	dwarf_line_files_end(b, begin);
	return begin;
}

static inline void dwarf_section(struct builder *b, const struct dwarf_file *f, const char *name,
				 const struct dwarf_bytes *bytes)
{
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1};
	Elf64_Shdr section = {.sh_type = SHT_PROGBITS, .sh_addralign = 1};
	uint8_t *packed, *all;
	size_t length;

	if (!f->compressed || strcmp(f->compressed, name) != 0) {
		if (bytes->n)
			builder_section(b, name, &section, bytes->data, bytes->n);
		return;
	}
	packed = hostile_zeros(bytes->data, bytes->n, f->zeros, &length);
	header.ch_size = f->claim ? f->claim : f->zeros * 65536;
	all = malloc(sizeof(header) + length);
	if (!all)
		abort();
	memcpy(all, &header, sizeof(header));
	memcpy(all + sizeof(header), packed, length);
	section.sh_flags = SHF_COMPRESSED;
	builder_section(b, name, &section, all, sizeof(header) + length);
	free(packed);
	free(all);
}

/* The file, which is an honest one but for its DWARF; sections may be added to it. */
static inline void dwarf_sections(struct builder *b, struct dwarf_file *f)
{
	const struct {
		const char *name;
		struct dwarf_bytes *bytes;
	} sections[] = {
		{".debug_info", &f->info},         {".debug_abbrev", &f->abbreviations},
		{".debug_line", &f->line},         {".debug_ranges", &f->ranges},
		{".debug_rnglists", &f->rnglists}, {".debug_str", &f->str},
		{".debug_aranges", &f->aranges},   {".debug_types", &f->types},
	};

	dwarf_number(&f->abbreviations, 0, 1);
	builder_init(b);
	builder_text(b, 0x100);
	b->segments[0].p_memsz = DWARF_CODE_SIZE; /* and the file remains a small one */
	builder_symbols(b, ".symtab", SHT_SYMTAB, hostile_functions, ARRAY_SIZE(hostile_functions));
	builder_build_id(b, 0xab);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		dwarf_section(b, f, sections[i].name, sections[i].bytes);
		free(sections[i].bytes->data);
	}
}

static inline void dwarf_finish(struct builder *b, struct dwarf_file *f)
{
	dwarf_sections(b, f);
	builder_finish(b);
}

#endif
