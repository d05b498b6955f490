/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_HOSTILE_ELF_DWARF_LINES_H
#define PROFD_TESTS_HOSTILE_ELF_DWARF_LINES_H

/* Hostile DWARF that is about line tables, ranges, texts, compression and other files. */
#include "tests/support/hostile_elf_dwarf.h"

/* A unit of all the code, an honest function in it, and the line table that @add makes. */
static inline void hostile_line(struct builder *b, void (*add)(struct dwarf_bytes *line))
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_function(&f.info, D_FUNCTION_LEAF, "outer", BUILDER_FIRST, 64);
	dwarf_unit_end(&f.info, unit);
	add(&f.line);
	dwarf_finish(b, &f);
}

/* --- line tables ------------------------------------------------------------------------------ */

/* Each byte makes a row. */
static inline void dwarf_add_rows(struct dwarf_bytes *line)
{
	size_t begin = dwarf_line_plain(line, 0);

	dwarf_fill(line, 13 + 5 + 14, 10 * HOSTILE_MILLION); /* the next byte, the same line */
	dwarf_line_end(line, begin, 1);
}

/* The rows go down and up: they are not in order. */
static inline void dwarf_add_rows_back(struct dwarf_bytes *line)
{
	size_t begin = dwarf_line_plain(line, 0);

	for (unsigned i = 0; i < HOSTILE_MILLION; i++)
		DWARF_PUT(line, DW_LNS_advance_pc, (i * 7919) & 0x7f, DW_LNS_copy);
	dwarf_line_end(line, begin, 1);
}

static inline void dwarf_add_advances(struct dwarf_bytes *line)
{
	size_t begin = dwarf_line_plain(line, 0);

	for (unsigned i = 0; i < 1000; i++) {
		dwarf_number(line, DW_LNS_advance_pc, 1);
		dwarf_uleb(line, UINT64_MAX - i);
		dwarf_number(line, DW_LNS_advance_line, 1);
		dwarf_uleb(line, INT64_MAX - i);
		dwarf_number(line, DW_LNS_set_file, 1);
		dwarf_uleb(line, UINT64_MAX);
		dwarf_number(line, DW_LNS_copy, 1);
	}
	dwarf_line_end(line, begin, UINT64_MAX);
}

/* What the other numbers are divided by and multiplied with is 0. */
static inline void dwarf_add_zeros(struct dwarf_bytes *line)
{
	for (unsigned i = 0; i < 4; i++) {
		struct dwarf_line_header header = {i == 0 ? 0 : 1, i == 1 ? 0 : 1, i == 2 ? 0 : 14,
						   i == 3 ? 0 : 13};
		size_t begin = dwarf_line(line, &header);

		dwarf_put(line, "\0a.c\0\0\0\0", 9);
		dwarf_line_files_end(line, begin);
		dwarf_fill(line, 200, 1000);
		dwarf_line_end(line, begin, 1);
	}
}

/* Just as many as a table that we take can have. */
static inline void dwarf_add_files(struct dwarf_bytes *line)
{
	size_t begin = dwarf_line(line, &DWARF_LINE_HEADER);

	dwarf_number(line, 0, 1);
	for (unsigned i = 0; i < HOSTILE_MILLION / 5 * 4; i++)
		dwarf_put(line, "a\0\0\0", 5);
	dwarf_number(line, 0, 1);
	dwarf_line_files_end(line, begin);
	dwarf_line_end(line, begin, DWARF_CODE_SIZE);
}

static inline void dwarf_add_dir(struct dwarf_bytes *line)
{
	size_t begin = dwarf_line_plain(line, UINT64_MAX);

	dwarf_line_end(line, begin, DWARF_CODE_SIZE);
}

/* Its header ends before it begins, and the directories have no end. */
static inline void dwarf_add_header_length(struct dwarf_bytes *line)
{
	size_t begin = dwarf_line_plain(line, 0);

	dwarf_line_end(line, begin, DWARF_CODE_SIZE);
	memset(line->data + begin + 6, 0xff, 4);
	dwarf_fill(line, 'a', 1000);
}

/* DWARF 5: a count of directories and files of 2^64, whose entries take no byte. */
static inline void dwarf_add_no_bytes(struct dwarf_bytes *line)
{
	static const uint8_t head[] = {8, 0, 0xff, 0xff, 0, 0, 1, 1, 1, 0xfb, 14, 13,
				       0, 1, 1,    1,    1, 0, 0, 0, 1, 0,    0,  1};
	size_t begin = line->n;
	uint32_t length;

	dwarf_number(line, 0, 4);
	dwarf_number(line, 5, 2);
	dwarf_put(line, head, sizeof(head));
	dwarf_number(line, 0, 1); /* of each directory nothing is said */
	dwarf_uleb(line, UINT32_MAX);
	dwarf_number(line, 0, 1);
	dwarf_uleb(line, UINT32_MAX);
	dwarf_line_files_end(line, begin);
	dwarf_line_end(line, begin, DWARF_CODE_SIZE);
	length = (uint32_t)(line->n - begin - 4);
	memcpy(line->data + begin, &length, sizeof(length));
}

static inline void hostile_dwarf_rows(struct builder *b)
{
	hostile_line(b, dwarf_add_rows);
}

static inline void hostile_dwarf_rows_back(struct builder *b)
{
	hostile_line(b, dwarf_add_rows_back);
}

static inline void hostile_dwarf_advances(struct builder *b)
{
	hostile_line(b, dwarf_add_advances);
}

static inline void hostile_dwarf_line_zeros(struct builder *b)
{
	hostile_line(b, dwarf_add_zeros);
}

static inline void hostile_dwarf_files(struct builder *b)
{
	hostile_line(b, dwarf_add_files);
}

static inline void hostile_dwarf_dir(struct builder *b)
{
	hostile_line(b, dwarf_add_dir);
}

static inline void hostile_dwarf_line_header(struct builder *b)
{
	hostile_line(b, dwarf_add_header_length);
}

static inline void hostile_dwarf_line_no_bytes(struct builder *b)
{
	hostile_line(b, dwarf_add_no_bytes);
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* One function with a list of @n entries; @is_ended: and the entry that ends it. */
static inline void hostile_ranges(struct builder *b, size_t n_functions, size_t n, bool is_ended)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	unit = dwarf_unit_of_all(&f.info, 4);
	for (size_t i = 0; i < n_functions; i++) {
		dwarf_number(&f.info, D_FUNCTION_MANY, 1);
		dwarf_number(&f.info, 0, 4);
	}
	dwarf_unit_end(&f.info, unit);
	for (size_t i = 0; i < n; i++) {
		dwarf_number(&f.ranges, i % 0x800, 8);
		dwarf_number(&f.ranges, i % 0x800 + 1, 8);
	}
	if (is_ended)
		dwarf_fill(&f.ranges, 0, 16);
	dwarf_finish(b, &f);
}

static inline void hostile_dwarf_ranges(struct builder *b)
{
	hostile_ranges(b, 1, 4 * HOSTILE_MILLION, true);
}

static inline void hostile_dwarf_ranges_endless(struct builder *b)
{
	hostile_ranges(b, 1, HOSTILE_MILLION, false);
}

/* Ten thousand million, out of a hundred thousand functions that share one list. */
static inline void hostile_dwarf_ranges_shared(struct builder *b)
{
	hostile_ranges(b, HOSTILE_MILLION / 10, HOSTILE_MILLION / 10, true);
}

/* DWARF 5: ten million entries; all zeros are an end, so these are offset pairs. */
static inline void hostile_dwarf_rnglists(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	unit = dwarf_unit(&f.info, 5);
	dwarf_number(&f.info, D_UNIT_RANGES, 1);
	dwarf_number(&f.info, 12, 4);
	dwarf_unit_end(&f.info, unit);
	dwarf_number(&f.rnglists, 30 * HOSTILE_MILLION, 4);
	DWARF_PUT(&f.rnglists, 5, 0, 8, 0, 0, 0, 0, 0);
	DWARF_PUT(&f.rnglists, DW_RLE_base_address, 0, 4, 0, 0, 0, 0, 0, 0);
	for (unsigned i = 0; i < 10 * HOSTILE_MILLION; i++)
		DWARF_PUT(&f.rnglists, DW_RLE_offset_pair, (uint8_t)(i % 64), 100);
	dwarf_number(&f.rnglists, DW_RLE_end_of_list, 1);
	dwarf_finish(b, &f);
}

/* Lists by numbers that there are not, in tables that are not there. */
static inline void hostile_dwarf_rnglists_index(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_compile_unit, 0, DW_AT_rnglists_base & 0x7f,
		  DW_FORM_sec_offset, DW_AT_ranges, DW_FORM_rnglistx, 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		unit = dwarf_unit(&f.info, 5);
		dwarf_number(&f.info, N_D, 1);
		dwarf_number(&f.info, i == 0 ? 12 : i == 1 ? UINT32_MAX : 0, 4);
		dwarf_uleb(&f.info, i == 2 ? UINT64_MAX / 4 : UINT32_MAX);
		dwarf_unit_end(&f.info, unit);
	}
	dwarf_number(&f.rnglists, 8, 4);
	DWARF_PUT(&f.rnglists, 5, 0, 8, 0, 0xff, 0xff, 0xff, 0xff);
	dwarf_finish(b, &f);
}

/* .debug_aranges of a million, and a table whose addresses have no bytes. */
static inline void hostile_dwarf_aranges(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_unit_end(&f.info, unit);
	for (unsigned address = 0; address <= 8; address += 8) {
		uint32_t length;
		size_t begin = f.aranges.n;

		dwarf_number(&f.aranges, 0, 4);
		dwarf_number(&f.aranges, 2, 2);
		dwarf_number(&f.aranges, 0, 4);
		dwarf_number(&f.aranges, address, 2);
		dwarf_number(&f.aranges, 0, 4);
		for (unsigned i = 0; i < (address ? HOSTILE_MILLION : 100); i++)
			dwarf_range(&f.aranges, BUILDER_FIRST + i % 256, UINT64_MAX - i);
		dwarf_fill(&f.aranges, 0, 16);
		length = (uint32_t)(f.aranges.n - begin - 4);
		memcpy(f.aranges.data + begin, &length, sizeof(length));
	}
	dwarf_finish(b, &f);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* By offsets behind the end, at it, and by numbers in a table that is not there. */
static inline void hostile_dwarf_texts(struct builder *b)
{
	static const uint64_t offsets[] = {0, 4, 5, UINT32_MAX};
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_strp, D_RANGE, 0,
		  0, N_D + 1, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_strx4, D_RANGE, 0, 0);
	unit = dwarf_unit_of_all(&f.info, 5);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(offsets); i++) {
		dwarf_number(&f.info, N_D + i % 2, 1);
		dwarf_number(&f.info, offsets[i / 2], 4);
		dwarf_range(&f.info, BUILDER_FIRST + 16 * i, 16);
	}
	dwarf_unit_end(&f.info, unit);
	dwarf_put(&f.str, "text", 5);
	dwarf_finish(b, &f);
}

/* A name that lasts until the section ends, and is not ended there; its unit is @length long. */
static inline void hostile_name_endless(struct builder *b, uint32_t length)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_subprogram, 0, D_RANGE, DW_AT_name, DW_FORM_string,
		  0, 0);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_number(&f.info, N_D, 1);
	dwarf_range(&f.info, BUILDER_FIRST, 64);
	dwarf_fill(&f.info, 'a', 3 * HOSTILE_MILLION);
	if (!length)
		length = (uint32_t)(f.info.n - unit - 4);
	memcpy(f.info.data + unit, &length, sizeof(length));
	dwarf_finish(b, &f);
}

static inline void hostile_dwarf_name_endless(struct builder *b)
{
	hostile_name_endless(b, 0);
}

static inline void hostile_dwarf_name_past_end(struct builder *b)
{
	hostile_name_endless(b, 0x7fffffff);
}

/* --- compression ------------------------------------------------------------------------------ */

/* @name is compressed, and has zeros behind what it should have; it claims to become @claim. */
static inline void hostile_dwarf_bomb(struct builder *b, const char *name, size_t size,
				      uint64_t claim)
{
	struct dwarf_file f;
	size_t unit, line;

	dwarf_begin(&f);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_add_honest(&f);
	dwarf_unit_end(&f.info, unit);
	line = dwarf_line_plain(&f.line, 0);
	dwarf_line_end(&f.line, line, DWARF_CODE_SIZE);
	dwarf_text(&f.str, "text");
	f.compressed = name;
	f.zeros = size / 65536;
	f.claim = claim;
	dwarf_finish(b, &f);
}

static inline void hostile_dwarf_bomb_info(struct builder *b)
{
	hostile_dwarf_bomb(b, ".debug_info", HOSTILE_BOMB, 0);
}

static inline void hostile_dwarf_bomb_line(struct builder *b)
{
	hostile_dwarf_bomb(b, ".debug_line", HOSTILE_BOMB / 3, 0);
}

/* More than the worker has memory. */
static inline void hostile_dwarf_bomb_str(struct builder *b)
{
	hostile_dwarf_bomb(b, ".debug_str", 1 << 20, 4 * (uint64_t)HOSTILE_BOMB);
}

/* It says less than it is. */
static inline void hostile_dwarf_bomb_liar(struct builder *b)
{
	hostile_dwarf_bomb(b, ".debug_abbrev", HOSTILE_BOMB / 3, 65536);
}

/* --- other files ------------------------------------------------------------------------------ */

/* dwz's alternate file is the file itself, and its names are there. */
static inline void hostile_dwarf_alternate(struct builder *b)
{
	static const uint8_t link[] = "dwarf-alternate\0\xab\xab\xab\xab\xab\xab\xab\xab\xab\xab"
				      "\xab\xab\xab\xab\xab\xab\xab\xab\xab\xab";
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	/* 0x1f21: DW_FORM_GNU_strp_alt, 0x1f20: DW_FORM_GNU_ref_alt */
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_subprogram, 0, DW_AT_name, 0xa1, 0x3e, D_RANGE, 0,
		  0, N_D + 1, DW_TAG_subprogram, 0, DW_AT_abstract_origin, 0xa0, 0x3e, D_RANGE, 0,
		  0);
	unit = dwarf_unit_of_all(&f.info, 4);
	for (unsigned i = 0; i < 4; i++) {
		size_t at = f.info.n;

		dwarf_number(&f.info, N_D + i % 2, 1);
		dwarf_number(&f.info, i < 2 ? at : UINT32_MAX, 4);
		dwarf_range(&f.info, BUILDER_FIRST + 16 * i, 16);
	}
	dwarf_unit_end(&f.info, unit);
	dwarf_sections(b, &f);
	builder_section(b, ".gnu_debugaltlink", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, link,
			sizeof(link) - 1);
	builder_finish(b);
}

/* Units that were split off, to files that are a terminal, a pipe, the file itself. */
static inline void hostile_dwarf_split(struct builder *b)
{
	static const char *const names[] = {"/dev/tty", "/proc/self/fd/3", "dwarf-split",
					    "../../../../../../dev/zero", ""};
	struct dwarf_file f;

	dwarf_begin(&f);
	/* 0x2130: DW_AT_GNU_dwo_name, 0x2131: DW_AT_GNU_dwo_id */
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_compile_unit, 0, 0xb0, 0x42, DW_FORM_string, 0xb1,
		  0x42, DW_FORM_data8, DW_AT_comp_dir, DW_FORM_string, D_RANGE, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t unit = dwarf_unit(&f.info, 4);

		dwarf_number(&f.info, N_D, 1);
		dwarf_text(&f.info, names[i]);
		dwarf_number(&f.info, i, 8);
		dwarf_text(&f.info, "/tmp");
		dwarf_range(&f.info, BUILDER_FIRST + 16 * i, 16);
		dwarf_unit_end(&f.info, unit);
	}
	dwarf_finish(b, &f);
}

static const struct hostile_case hostile_dwarf_cases[] = {
	{"dwarf-plain", hostile_dwarf_plain},
	{"dwarf-origin-itself", hostile_dwarf_origin_itself},
	{"dwarf-origin-cycle", hostile_dwarf_origin_cycle},
	{"dwarf-origin-chain", hostile_dwarf_origin_chain},
	{"dwarf-specification-cycle", hostile_dwarf_specification_cycle},
	{"dwarf-references-astray", hostile_dwarf_references_astray},
	{"dwarf-nested-blocks", hostile_dwarf_nested_blocks},
	{"dwarf-nested-inlined", hostile_dwarf_nested_inlined},
	{"dwarf-many-inlined", hostile_dwarf_many_inlined},
	{"dwarf-dolls", hostile_dwarf_dolls},
	{"dwarf-siblings", hostile_dwarf_siblings},
	{"dwarf-siblings-back", hostile_dwarf_siblings_back},
	{"dwarf-high-wraps", hostile_dwarf_high_wraps},
	{"dwarf-units", hostile_dwarf_units},
	{"dwarf-units-partial", hostile_dwarf_units_partial},
	{"dwarf-unit-lengths", hostile_dwarf_unit_lengths},
	{"dwarf-unit-past-end", hostile_dwarf_unit_past_end},
	{"dwarf-types", hostile_dwarf_types},
	{"dwarf-abbreviation-long", hostile_dwarf_abbreviation_long},
	{"dwarf-abbreviations", hostile_dwarf_abbreviations},
	{"dwarf-indirect", hostile_dwarf_indirect},
	{"dwarf-blocks", hostile_dwarf_blocks},
	{"dwarf-locations", hostile_dwarf_locations},
	{"dwarf-rows", hostile_dwarf_rows},
	{"dwarf-rows-back", hostile_dwarf_rows_back},
	{"dwarf-advances", hostile_dwarf_advances},
	{"dwarf-line-zeros", hostile_dwarf_line_zeros},
	{"dwarf-files", hostile_dwarf_files},
	{"dwarf-folder", hostile_dwarf_dir},
	{"dwarf-line-header", hostile_dwarf_line_header},
	{"dwarf-line-no-bytes", hostile_dwarf_line_no_bytes},
	{"dwarf-ranges", hostile_dwarf_ranges},
	{"dwarf-ranges-endless", hostile_dwarf_ranges_endless},
	{"dwarf-ranges-shared", hostile_dwarf_ranges_shared},
	{"dwarf-rnglists", hostile_dwarf_rnglists},
	{"dwarf-rnglists-index", hostile_dwarf_rnglists_index},
	{"dwarf-aranges", hostile_dwarf_aranges},
	{"dwarf-texts", hostile_dwarf_texts},
	{"dwarf-name-endless", hostile_dwarf_name_endless},
	{"dwarf-name-past-end", hostile_dwarf_name_past_end},
	{"dwarf-bomb-info", hostile_dwarf_bomb_info},
	{"dwarf-bomb-line", hostile_dwarf_bomb_line},
	{"dwarf-bomb-str", hostile_dwarf_bomb_str},
	{"dwarf-bomb-liar", hostile_dwarf_bomb_liar},
	{"dwarf-alternate", hostile_dwarf_alternate},
	{"dwarf-split", hostile_dwarf_split},
};

#endif
