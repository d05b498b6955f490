/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_HOSTILE_ELF_KILLERS_H
#define PROFD_TESTS_HOSTILE_ELF_KILLERS_H

/*
 * Files that an image worker dies of: what they ask of the libraries has no bound there, and none
 * that we could set without reading them ourselves.
 */
#include "tests/support/hostile_elf_dwarf_lines.h"

/*
 * Too slow, by a name of 150 letters. Each of these types is a pair of the one before, twice, and
 * libiberty goes through all 2^KILLER_NAME_DEPTH of them to look for a pack of arguments that the
 * "Dp" before them could be about (Itanium C++ ABI, 5.1.5.1): hours.
 */
#define KILLER_NAME_DEPTH 34

static inline void killer_name(char ret[256])
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = (size_t)sprintf(ret, "_Z1fDpSt4pairI");

	for (unsigned i = 0; i < KILLER_NAME_DEPTH; i++)
		n += (size_t)sprintf(ret + n, "S_I");
	n += (size_t)sprintf(ret + n, "iiE");
	for (unsigned i = 0; i < KILLER_NAME_DEPTH; i++)
		n += (size_t)sprintf(ret + n, "S%c_E", digits[i]);
}

static inline void hostile_killer_name(struct builder *b)
{
	char name[256];
	struct builder_symbol symbol = {name, BUILDER_FIRST, 0x100, BUILDER_FUNC, 1};

	killer_name(name);
	builder_init(b);
	builder_text(b, 0x100);
	builder_symbols(b, ".symtab", SHT_SYMTAB, &symbol, 1);
	builder_finish(b);
}

/*
 * More memory than it has: libdw keeps the abbreviations of each unit, and these all begin at the
 * same table and use its last one. Where it gets no memory, libdw ends the process.
 */
#define KILLER_ABBREVIATIONS 20000u

static inline void hostile_killer_abbreviations(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	for (unsigned i = 0; i < KILLER_ABBREVIATIONS; i++) {
		dwarf_abbreviation(&f.abbreviations, N_D + i, DW_TAG_compile_unit, false);
		dwarf_number(&f.abbreviations, 0, 2);
	}
	for (unsigned i = 0; i < HOSTILE_MILLION / 100; i++) {
		unit = dwarf_unit(&f.info, 4);
		dwarf_uleb(&f.info, N_D + KILLER_ABBREVIATIONS - 1);
		dwarf_unit_end(&f.info, unit);
	}
	dwarf_finish(b, &f);
}

/*
 * Too slow: DIEs of one byte, each with two thousand attributes that libdw goes through to find
 * where the next DIE is. Compilers' have some twenty.
 */
static inline void hostile_killer_attributes(struct builder *b)
{
	struct dwarf_file f;
	size_t unit;

	dwarf_begin(&f);
	dwarf_abbreviation(&f.abbreviations, N_D, DW_TAG_variable, false);
	for (unsigned i = 0; i < 2000; i++)
		DWARF_PUT(&f.abbreviations, DW_AT_artificial, DW_FORM_flag_present);
	dwarf_number(&f.abbreviations, 0, 2);
	unit = dwarf_unit_of_all(&f.info, 4);
	dwarf_fill(&f.info, N_D, 16 * HOSTILE_MILLION);
	dwarf_unit_end(&f.info, unit);
	dwarf_finish(b, &f);
}

static const struct hostile_case hostile_killers[] = {
	{"killer-name", hostile_killer_name}, /* whatever is asked */
	/* when lines are asked for: */
	{"killer-abbreviations", hostile_killer_abbreviations},
	{"killer-attributes", hostile_killer_attributes},
};

#endif
