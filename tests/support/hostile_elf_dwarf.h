/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_HOSTILE_ELF_DWARF_H
#define PROFD_TESTS_HOSTILE_ELF_DWARF_H

/*
 * Honest programs with hostile DWARF: units, DIEs and what they refer to here; lines, ranges,
 * texts and other files in hostile_elf_dwarf_lines.h. The worker is to answer for each of them;
 * those that no bound of ours holds are in hostile_elf_killers.h.
 */
#include "tests/support/hostile_elf_dwarf_builder.h"

/* A unit of all the code with what @add writes into it, and a line table of one row. */
static inline void hostile_unit(struct builder *b, void (*add)(struct dwarf_file *f))
{
	struct dwarf_file f;
	size_t unit, line;

	dwarf_begin(&f);
	unit = dwarf_unit_of_all(&f.info, 4);
	add(&f);
	dwarf_unit_end(&f.info, unit);
	line = dwarf_line_plain(&f.line, 0);
	dwarf_line_end(&f.line, line, DWARF_CODE_SIZE);
	dwarf_finish(b, &f);
}

/* --- nothing wrong ---------------------------------------------------------------------------- */

static inline void dwarf_add_honest(struct dwarf_file *f)
{
	size_t origin = f->info.n;

	dwarf_number(&f->info, D_NAMED, 1);
	dwarf_text(&f->info, "inlined");
	dwarf_function(&f->info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	dwarf_inlined(&f->info, D_INLINED_LEAF, origin);
	dwarf_number(&f->info, D_END, 1);
}

static inline void hostile_dwarf_plain(struct builder *b)
{
	hostile_unit(b, dwarf_add_honest);
}

/* --- references ------------------------------------------------------------------------------- */

static inline void dwarf_add_origin_of_itself(struct dwarf_file *f)
{
	size_t origin = f->info.n;

	dwarf_number(&f->info, D_ORIGIN, 1);
	dwarf_number(&f->info, origin, 4);
	dwarf_function(&f->info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	dwarf_inlined(&f->info, D_INLINED_LEAF, origin);
	/* One that is inlined in itself. */
	dwarf_inlined(&f->info, D_INLINED_LEAF, f->info.n);
	dwarf_number(&f->info, D_END, 1);
}

static inline void dwarf_add_origin_cycle(struct dwarf_file *f)
{
	size_t origin = f->info.n;

	dwarf_number(&f->info, D_ORIGIN, 1);
	dwarf_number(&f->info, origin + 5, 4);
	dwarf_number(&f->info, D_ORIGIN, 1);
	dwarf_number(&f->info, origin, 4);
	dwarf_function(&f->info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	dwarf_inlined(&f->info, D_INLINED_LEAF, origin);
	dwarf_number(&f->info, D_END, 1);
}

/* A million of them, each the origin of the one before. */
static inline void dwarf_add_origin_chain(struct dwarf_file *f)
{
	size_t origin = f->info.n;

	for (size_t i = 1; i <= HOSTILE_MILLION; i++) {
		dwarf_number(&f->info, D_ORIGIN, 1);
		dwarf_number(&f->info, origin + 5 * i, 4);
	}
	dwarf_number(&f->info, D_NAMED, 1);
	dwarf_text(&f->info, "last");
	dwarf_function(&f->info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	dwarf_inlined(&f->info, D_INLINED_LEAF, origin);
	dwarf_number(&f->info, D_END, 1);
}

static inline void hostile_dwarf_origin_itself(struct builder *b)
{
	hostile_unit(b, dwarf_add_origin_of_itself);
}

static inline void hostile_dwarf_origin_cycle(struct builder *b)
{
	hostile_unit(b, dwarf_add_origin_cycle);
}

static inline void hostile_dwarf_origin_chain(struct builder *b)
{
	hostile_unit(b, dwarf_add_origin_chain);
}

/* Specifications that go from unit to unit and back. */
static inline void hostile_dwarf_specification_cycle(struct builder *b)
{
	struct dwarf_file f;
	size_t unit, declared, at;

	dwarf_begin(&f);
	unit = dwarf_unit_of_all(&f.info, 4);
	declared = f.info.n;
	dwarf_number(&f.info, D_DECLARED, 1);
	dwarf_number(&f.info, 0, 4); /* that of the second unit */
	dwarf_function(&f.info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	dwarf_inlined(&f.info, D_INLINED_LEAF, declared);
	dwarf_number(&f.info, D_END, 1);
	dwarf_unit_end(&f.info, unit);
	unit = dwarf_unit_of_all(&f.info, 4);
	at = f.info.n;
	memcpy(f.info.data + declared + 1, &(uint32_t){(uint32_t)at}, 4);
	dwarf_number(&f.info, D_DECLARED, 1);
	dwarf_number(&f.info, declared, 4);
	dwarf_unit_end(&f.info, unit);
	dwarf_finish(b, &f);
}

/* Into a header, into the middle of a DIE, and behind everything. */
static inline void dwarf_add_astray(struct dwarf_file *f)
{
	dwarf_function(&f->info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	dwarf_inlined(&f->info, D_INLINED_LEAF, 2);
	dwarf_inlined(&f->info, D_INLINED_LEAF, f->info.n - 7);
	dwarf_inlined(&f->info, D_INLINED_LEAF, UINT32_MAX);
	dwarf_number(&f->info, D_END, 1);
}

static inline void hostile_dwarf_references_astray(struct builder *b)
{
	hostile_unit(b, dwarf_add_astray);
}

/* --- the tree --------------------------------------------------------------------------------- */

static inline void dwarf_add_nested_blocks(struct dwarf_file *f)
{
	dwarf_fill(&f->info, D_BLOCK, HOSTILE_MILLION);
	dwarf_fill(&f->info, D_END, HOSTILE_MILLION);
}

/* Each in the one before, and all of them where the first is. */
static inline void dwarf_add_nested_inlined(struct dwarf_file *f)
{
	size_t origin = f->info.n;

	dwarf_number(&f->info, D_NAMED, 1);
	dwarf_text(&f->info, "inlined");
	dwarf_function(&f->info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	for (size_t i = 0; i < HOSTILE_MILLION / 10; i++)
		dwarf_inlined(&f->info, D_INLINED, origin);
	dwarf_fill(&f->info, D_END, HOSTILE_MILLION / 10 + 1);
}

/* Side by side, at one place. */
static inline void dwarf_add_many_inlined(struct dwarf_file *f)
{
	size_t origin = f->info.n;

	dwarf_number(&f->info, D_NAMED, 1);
	dwarf_text(&f->info, "inlined");
	dwarf_function(&f->info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	for (size_t i = 0; i < HOSTILE_MILLION; i++)
		dwarf_inlined(&f->info, D_INLINED_LEAF, origin);
	dwarf_number(&f->info, D_END, 1);
}

/* Functions that overlap as Russian dolls do. */
static inline void dwarf_add_dolls(struct dwarf_file *f)
{
	for (size_t i = 0; i < HOSTILE_MILLION / 4; i++)
		dwarf_function(&f->info, D_FUNCTION_LEAF, "doll", BUILDER_FIRST + i % 0x800,
			       DWARF_CODE_SIZE - 2 * (i % 0x800));
}

/* To itself, back to the unit's first, to the unit, and to where no DIE is. */
static inline void dwarf_add_siblings(struct dwarf_file *f)
{
	size_t first = f->info.n;
	const size_t wanted[] = {first, first + 6, 11, 0, UINT32_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		dwarf_number(&f->info, D_SIBLING, 1);
		dwarf_number(&f->info, wanted[i], 4);
		dwarf_number(&f->info, D_END, 1);
	}
	dwarf_function(&f->info, D_FUNCTION_LEAF, "outer", BUILDER_FIRST, 64);
}

/* Each says that the next one is the first of them. */
static inline void dwarf_add_siblings_back(struct dwarf_file *f)
{
	size_t first = f->info.n;

	for (size_t i = 0; i < 1000; i++) {
		dwarf_number(&f->info, D_SIBLING, 1);
		dwarf_number(&f->info, first, 4);
		dwarf_number(&f->info, D_END, 1);
	}
}

static inline void hostile_dwarf_nested_blocks(struct builder *b)
{
	hostile_unit(b, dwarf_add_nested_blocks);
}

static inline void hostile_dwarf_nested_inlined(struct builder *b)
{
	hostile_unit(b, dwarf_add_nested_inlined);
}

static inline void hostile_dwarf_many_inlined(struct builder *b)
{
	hostile_unit(b, dwarf_add_many_inlined);
}

static inline void hostile_dwarf_dolls(struct builder *b)
{
	hostile_unit(b, dwarf_add_dolls);
}

static inline void hostile_dwarf_siblings(struct builder *b)
{
	hostile_unit(b, dwarf_add_siblings);
}

static inline void hostile_dwarf_siblings_back(struct builder *b)
{
	hostile_unit(b, dwarf_add_siblings_back);
}

static inline void dwarf_add_wrapping(struct dwarf_file *f)
{
	dwarf_function(&f->info, D_FUNCTION_LEAF, "wraps", BUILDER_FIRST, UINT64_MAX);
	dwarf_function(&f->info, D_FUNCTION_LEAF, "last", UINT64_MAX - 1, UINT64_MAX);
	dwarf_function(&f->info, D_FUNCTION_LEAF, "all", 1, UINT64_MAX - 1);
	dwarf_function(&f->info, D_FUNCTION_LEAF, "none", BUILDER_FIRST, 0);
}

static inline void hostile_dwarf_high_wraps(struct builder *b)
{
	hostile_unit(b, dwarf_add_wrapping);
}

/* --- units ------------------------------------------------------------------------------------ */

static inline void hostile_units(struct builder *b, unsigned abbreviation, size_t n)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_add_honest(&f);
	dwarf_unit_end(&f.info, unit);
	for (size_t i = 0; i < n; i++) {
		unit = dwarf_unit(&f.info, 4);
		dwarf_number(&f.info, abbreviation, 1);
		dwarf_unit_end(&f.info, unit);
	}
	dwarf_finish(b, &f);
}

static inline void hostile_dwarf_units(struct builder *b)
{
	hostile_units(b, D_UNIT_BARE, HOSTILE_MILLION);
}

/* More than fit into memory once libdw has read their headers. */
static inline void hostile_dwarf_units_partial(struct builder *b)
{
	hostile_units(b, D_PARTIAL, 2 * HOSTILE_MILLION);
}

/* Lengths of units: none, all, more than there is; and versions that there are not. */
static inline void hostile_dwarf_unit_lengths(struct builder *b)
{
	static const uint32_t lengths[] = {0, 1, UINT32_MAX, 0xfffffff0, 0x7fffffff};
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	for (unsigned version = 0; version < 8; version++) {
		unit = dwarf_unit_of_all(&f.info, version);
		dwarf_unit_end(&f.info, unit);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		unit = dwarf_unit_of_all(&f.info, 4);
		dwarf_unit_end(&f.info, unit);
		memcpy(f.info.data + unit, &lengths[i], sizeof(lengths[i]));
	}
	dwarf_finish(b, &f);
}

/* A unit that is longer than its section, in which a function's children end with the last byte. */
static inline void hostile_dwarf_unit_past_end(struct builder *b)
{
	struct dwarf_file f;
	size_t unit, line;

	dwarf_begin(&f);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_function(&f.info, D_FUNCTION, "outer", BUILDER_FIRST, 64);
	dwarf_function(&f.info, D_FUNCTION_LEAF, "inner", BUILDER_FIRST + 8, 8);
	dwarf_number(&f.info, D_END, 1);
	memcpy(f.info.data + unit, &(uint32_t){0x7fffffff}, 4);
	line = dwarf_line_plain(&f.line, 0);
	dwarf_line_end(&f.line, line, DWARF_CODE_SIZE);
	dwarf_finish(b, &f);
}

/* Type units: their signatures are all alike, and each one's type is in the next unit. */
static inline void hostile_dwarf_types(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_subprogram, 0, DW_AT_specification,
		  DW_FORM_ref_sig8, D_RANGE, 0, 0);
	unit = dwarf_unit_of_all(&f.info, 4);
	for (uint64_t i = 0; i < 3; i++) {
		dwarf_number(&f.info, N_D, 1);
		dwarf_number(&f.info, i, 8); /* the signature */
		dwarf_range(&f.info, BUILDER_FIRST + 16 * i, 16);
	}
	dwarf_unit_end(&f.info, unit);
	for (unsigned i = 0; i < 100000; i++) {
		unit = dwarf_unit(&f.types, 4);
		dwarf_number(&f.types, 1, 8);
		dwarf_number(&f.types, 24, 4); /* where the type is, behind the signature */
		dwarf_number(&f.types, N_D, 1);
		dwarf_number(&f.types, 1, 8);
		dwarf_range(&f.types, BUILDER_FIRST, 16);
		dwarf_unit_end(&f.types, unit);
	}
	dwarf_finish(b, &f);
}

/* --- abbreviations ---------------------------------------------------------------------------- */

static inline void dwarf_abbreviation(struct dwarf_bytes *b, uint64_t code, uint8_t tag,
				      bool children)
{
	dwarf_uleb(b, code);
	dwarf_number(b, tag, 1);
	dwarf_number(b, children, 1);
}

/* One with a hundred thousand attributes that take no byte in a DIE. */
static inline void hostile_dwarf_abbreviation_long(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	dwarf_abbreviation(&f.abbreviations, N_D, DW_TAG_subprogram, false);
	for (unsigned i = 0; i < HOSTILE_MILLION / 10; i++)
		DWARF_PUT(&f.abbreviations, DW_AT_artificial, DW_FORM_flag_present);
	dwarf_number(&f.abbreviations, 0, 2);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_fill(&f.info, N_D, HOSTILE_MILLION);
	dwarf_unit_end(&f.info, unit);
	dwarf_finish(b, &f);
}

/* A million that nobody uses, and then no end. */
static inline void hostile_dwarf_abbreviations(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	for (unsigned i = 0; i < HOSTILE_MILLION; i++) {
		dwarf_abbreviation(&f.abbreviations, N_D + i, DW_TAG_subprogram, true);
		dwarf_number(&f.abbreviations, 0, 2);
	}
	dwarf_abbreviation(&f.abbreviations, UINT64_MAX, 0x80, true);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_fill(&f.info, N_D, HOSTILE_MILLION);
	dwarf_unit_end(&f.info, unit);
	dwarf_finish(b, &f);
}

/* A form that says that the form is in the DIE, where it says the same again; and so on. */
static inline void hostile_dwarf_indirect(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_indirect,
		  D_RANGE, 0, 0);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_number(&f.info, N_D, 1);
	dwarf_fill(&f.info, DW_FORM_indirect, 5 * HOSTILE_MILLION);
	dwarf_text(&f.info, "\x08name"); /* DW_FORM_string */
	dwarf_range(&f.info, BUILDER_FIRST, 64);
	dwarf_unit_end(&f.info, unit);
	dwarf_finish(b, &f);
}

/* Blocks of 2^63 bytes and more, and of as many as there are in all. */
static inline void hostile_dwarf_blocks(struct builder *b)
{
	static const uint64_t lengths[] = {1ull << 63, UINT64_MAX, UINT64_MAX - 40, 1ull << 32};
	struct dwarf_file f;

	dwarf_begin(&f);
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_subprogram, 0, DW_AT_frame_base, DW_FORM_block,
		  DW_AT_location, DW_FORM_exprloc, D_RANGE, 0, 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(lengths); i++) {
		size_t unit = dwarf_unit_of_all(&f.info, 4);

		dwarf_function(&f.info, D_FUNCTION_LEAF, "before", BUILDER_FIRST, 64);
		dwarf_number(&f.info, N_D, 1);
		if (i % 2)
			dwarf_uleb(&f.info, 0);
		dwarf_uleb(&f.info, lengths[i / 2]);
		dwarf_range(&f.info, BUILDER_FIRST, 64);
		dwarf_unit_end(&f.info, unit);
	}
	dwarf_finish(b, &f);
}

/* Location lists that are not there, and expressions that jump to themselves. */
static inline void hostile_dwarf_locations(struct builder *b)
{
	static const uint8_t jump[] = {3, DW_OP_skip, 0xfd, 0xff};
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	DWARF_PUT(&f.abbreviations, N_D, DW_TAG_subprogram, 0, DW_AT_frame_base, DW_FORM_exprloc,
		  DW_AT_location, DW_FORM_sec_offset, D_RANGE, 0, 0);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_number(&f.info, N_D, 1);
	dwarf_put(&f.info, jump, sizeof(jump));
	dwarf_number(&f.info, UINT32_MAX, 4);
	dwarf_range(&f.info, BUILDER_FIRST, 64);
	dwarf_unit_end(&f.info, unit);
	dwarf_finish(b, &f);
}

#endif
