/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/symbols/symtab.h"
#include "tests/support/random.h"
#include "tests/support/symtab_from_elf.h"
#include "tests/unit/symbols/symbol_at.h"

#define BASE 0x401000ull

/* --- the rules, as a model without any cleverness --------------------------------------------- */

static bool model_beats(const struct symtab_entry *a, const struct symtab_entry *b)
{
	if (a->source != b->source)
		return a->source < b->source;
	if (a->start != b->start)
		return a->start > b->start;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->size != b->size)
		return a->size > b->size;
	return strcmp(a->name, b->name) < 0;
}

static const struct symtab_entry *model_find(const struct symtab_entry *entries, size_t n,
					     uint64_t address)
{
	const struct symtab_entry *found = NULL;
	uint64_t start = 0;

	for (size_t i = 0; i < n; i++) {
		const struct symtab_entry *e = &entries[i];

		if (e->size && e->start <= address && address - e->start < e->size &&
		    (!found || model_beats(e, found)))
			found = e;
		if (e->start <= address && e->start > start)
			start = e->start;
	}
	if (found)
		return found;
	/* No sized one: the unsized ones at the nearest start, if no sized one covers that start.
	 */
	for (size_t i = 0; i < n; i++) {
		const struct symtab_entry *e = &entries[i];

		if (e->size && e->start <= start && start - e->start < e->size)
			return NULL;
		if (!e->size && e->start == start && e->start <= address && address < e->limit &&
		    (!found || model_beats(e, found)))
			found = e;
	}
	return found;
}

static void check_random(uint64_t seed, unsigned n, unsigned span, unsigned n_sources)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	cleanup(symtab_freep) struct symtab *s = NULL;
	struct symtab_entry copy[64];
	char names[64][16];

	for (unsigned i = 0; i < n; i++) {
		struct symtab_entry *e = &copy[i];

		snprintf(names[i], sizeof(names[i]), "f%u", random_next(&seed) % n);
		*e = (struct symtab_entry){
			.start = BASE + random_next(&seed) % span,
			.size = random_next(&seed) % 3 ? random_next(&seed) % (span / 2) : 0,
			.limit = BASE + span,
			.rank = (enum symtab_rank)(random_next(&seed) % 3),
			.source = random_next(&seed) % n_sources,
			.name = names[i],
			.name_length = (uint32_t)strlen(names[i]),
		};
		assert_int_equal(symtab_entries_add(&list, e), 0);
	}
	assert_int_equal(symtab_build(&s, &list, SIZE_MAX), 0);
	for (uint64_t a = BASE - 2; a < BASE + 2 * span; a++) {
		const struct symtab_entry *expected = model_find(copy, n, a);
		struct symtab_symbol symbol;

		assert_int_equal(symtab_find(s, a, &symbol), expected != NULL);
		if (!expected)
			continue;
		assert_string_equal(symbol.name, expected->name);
		assert_int_equal(symbol.source, expected->source);
		/* The part of it around the address that has no other answer, all of it. */
		assert_true(symbol.start >= expected->start && symbol.start <= a);
		assert_ptr_equal(model_find(copy, n, symbol.start), expected);
		assert_ptr_equal(model_find(copy, n, symbol.start + symbol.size - 1), expected);
		if (symbol.start > BASE)
			assert_ptr_not_equal(model_find(copy, n, symbol.start - 1), expected);
		assert_ptr_not_equal(model_find(copy, n, symbol.start + symbol.size), expected);
	}
}

static void test_rules_against_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 3000; seed++) {
		uint64_t s = seed;
		unsigned n = 1 + random_next(&s) % 40;

		check_random(seed, n, 10 + random_next(&s) % 120, seed & 1 ? 4 : 1);
	}
}

static void test_wide(void **state)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	cleanup(symtab_freep) struct symtab *s = NULL;
	const uint64_t starts[] = {0x1000, 0x7fff00001000, 0xffffffff81000000};
	struct symtab_symbol symbol;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(symtab_entries_add(&list,
						    &(struct symtab_entry){.start = starts[i],
									   .size = 0x100,
									   .name = &"abc"[i],
									   .name_length = 3 - i}),
				 0);
	assert_int_equal(symtab_build(&s, &list, SIZE_MAX), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(symtab_find(s, starts[i] + 0xff, &symbol));
		assert_string_equal(symbol.name, &"abc"[i]);
		assert_int_equal(symbol.start, starts[i]);
		assert_false(symtab_find(s, starts[i] + 0x100, &symbol));
		assert_false(symtab_find(s, starts[i] - 1, &symbol));
	}
}

static void test_edges(void **state)
{
	static const struct symtab_entry entries[] = {
		{.start = 0, .size = 1u << 31, .name = "all", .name_length = 3, .source = 1},
		{.start = UINT64_MAX - 2, .size = 9, .name = "end", .name_length = 3},
		{.start = 5, .size = 0, .limit = 4, .name = "none", .name_length = 4},
		{.start = 7, .size = 1, .name = "one", .name_length = 3},
	};
	static const struct symtab_symbol expected[] = {
		{"all", 0, 7, 1},
		{"one", 7, 1, 0},
		{"all", 8, (1u << 31) - 8, 1},
		{NULL, 1u << 31, UINT64_MAX - 2 - (1u << 31), 0},
		{"end", UINT64_MAX - 2, 2, 0},
		{NULL, UINT64_MAX, 1, 0},
	};
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	cleanup(symtab_freep) struct symtab *s = NULL;
	struct symtab_symbol symbol;

	(void)state;
	assert_int_equal(symtab_build(&s, &list, SIZE_MAX), 0);
	assert_false(symtab_find(s, 3, &symbol));
	symtab_free(s);
	for (unsigned i = 0; i < ARRAY_SIZE(entries); i++)
		assert_int_equal(symtab_entries_add(&list, &entries[i]), 0);
	assert_int_equal(symtab_build(&s, &list, SIZE_MAX), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(symtab_find(s, expected[i].start, &symbol), !!expected[i].name);
		assert_int_equal(symbol.start, expected[i].start);
		assert_int_equal(symbol.size, expected[i].size);
		assert_int_equal(symbol.source, expected[i].source);
		if (symbol.name)
			assert_string_equal(symbol.name, expected[i].name);
	}
}

/* --- ELF files, written with libelf in each class and byte order -------------------------------
 */

struct test_symbol {
	const char *name;
	uint64_t value, size;
	unsigned char bind, type;
	uint16_t section; /* 1: .text, 2: .data */
};

static Elf_Data *add_section(Elf *elf, const GElf_Shdr *header, void *data, size_t length)
{
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *d = elf_newdata(scn);

	assert_non_null(d);
	d->d_buf = data;
	d->d_size = length;
	d->d_type = header->sh_type == SHT_SYMTAB || header->sh_type == SHT_DYNSYM ? ELF_T_SYM
										   : ELF_T_BYTE;
	assert_true(gelf_update_shdr(scn, (GElf_Shdr *)header));
	return d;
}

static int write_elf(unsigned char class, unsigned char order, uint32_t table_type,
		     const struct test_symbol *symbols, size_t n)
{
	static uint8_t text[0x100], data[0x100];
	static char names[4096], section_names[] = "\0x";
	int fd = memfd_create("elf", MFD_CLOEXEC);
	size_t at = 1, sym_bytes;
	uint64_t table[512];
	GElf_Ehdr eh = {0};
	Elf_Data *d;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	assert_non_null(elf);
	assert_true(gelf_newehdr(elf, class));
	gelf_getehdr(elf, &eh);
	eh.e_type = ET_DYN;
	eh.e_machine = EM_X86_64;
	eh.e_ident[EI_DATA] = order;
	eh.e_version = EV_CURRENT;
	eh.e_shstrndx = 5;
	gelf_update_ehdr(elf, &eh);
	add_section(elf,
		    &(GElf_Shdr){.sh_name = 1,
				 .sh_type = SHT_PROGBITS,
				 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_addr = 0x1000,
				 .sh_addralign = 1},
		    text, sizeof(text));
	add_section(elf,
		    &(GElf_Shdr){.sh_name = 1,
				 .sh_type = SHT_PROGBITS,
				 .sh_flags = SHF_ALLOC | SHF_WRITE,
				 .sh_addr = 0x2000,
				 .sh_addralign = 1},
		    data, sizeof(data));
	sym_bytes = gelf_fsize(elf, ELF_T_SYM, n + 1, EV_CURRENT);
	memset(table, 0, sizeof(table));
	assert_true(sym_bytes <= sizeof(table));
	d = add_section(elf,
			&(GElf_Shdr){.sh_name = 1,
				     .sh_type = table_type,
				     .sh_link = 4,
				     .sh_entsize = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT),
				     .sh_addralign = 8},
			table, sym_bytes);
	memset(names, 0, sizeof(names));
	for (size_t i = 0; i < n; i++) {
		GElf_Sym sym = {.st_name = (GElf_Word)at,
				.st_value = symbols[i].value,
				.st_size = symbols[i].size,
				.st_shndx = symbols[i].section,
				.st_info = GELF_ST_INFO(symbols[i].bind, symbols[i].type)};

		strcpy(names + at, symbols[i].name);
		at += strlen(symbols[i].name) + 1;
		assert_true(gelf_update_sym(d, (int)i + 1, &sym));
	}
	add_section(elf, &(GElf_Shdr){.sh_name = 1, .sh_type = SHT_STRTAB, .sh_addralign = 1},
		    names, at);
	add_section(elf, &(GElf_Shdr){.sh_name = 1, .sh_type = SHT_STRTAB, .sh_addralign = 1},
		    section_names, sizeof(section_names));
	assert_true(elf_update(elf, ELF_C_WRITE) > 0);
	elf_end(elf);
	return fd;
}

static const struct test_symbol sample[] = {
	{"local_alias", 0x1010, 0x10, STB_LOCAL, STT_FUNC, 1},
	{"global_name@@VERS_1", 0x1010, 0x10, STB_GLOBAL, STT_FUNC, 1},
	{"weak_alias", 0x1010, 0x10, STB_WEAK, STT_FUNC, 1},
	{"label", 0x1014, 0, STB_LOCAL, STT_NOTYPE, 1},
	{"assembly", 0x1020, 0, STB_LOCAL, STT_NOTYPE, 1},
	{"indirect", 0x1040, 8, STB_GLOBAL, STT_GNU_IFUNC, 1},
	{"$x", 0x1050, 0, STB_LOCAL, STT_NOTYPE, 1},
	{".Ltext", 0x1050, 0, STB_LOCAL, STT_NOTYPE, 1},
	{"tail", 0x10f0, 0, STB_LOCAL, STT_FUNC, 1},
	{"variable", 0x1060, 8, STB_GLOBAL, STT_OBJECT, 1},
	{"mark", 0x2000, 0, STB_GLOBAL, STT_NOTYPE, 2},
	{"absolute", 0x1070, 8, STB_GLOBAL, STT_FUNC, SHN_ABS},
	{"elsewhere", 0x1070, 8, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
};

static void check_sample(int fd)
{
	cleanup(symtab_freep) struct symtab *s = NULL;

	lseek(fd, 3, SEEK_SET);
	assert_int_equal(symtab_from_elf(&s, fd), SYMTAB_E_OK);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
	check_at(s, 0x100f, NULL, 0);
	check_at(s, 0x1010, "global_name", 0x1010);
	check_at(s, 0x1015, "global_name", 0x1010);
	check_at(s, 0x101f, "global_name", 0x1010);
	check_at(s, 0x1020, "assembly", 0x1020);
	check_at(s, 0x103f, "assembly", 0x1020);
	check_at(s, 0x1040, "indirect", 0x1040);
	check_at(s, 0x1048, NULL, 0);
	check_at(s, 0x1050, NULL, 0);
	check_at(s, 0x1060, NULL, 0);
	check_at(s, 0x1070, NULL, 0);
	check_at(s, 0x10ff, "tail", 0x10f0);
	check_at(s, 0x1100, NULL, 0);
	check_at(s, 0x2000, NULL, 0);
	assert_true(symtab_bytes(s) < 400);
}

static void test_elf(void **state)
{
	static const unsigned char classes[] = {ELFCLASS32, ELFCLASS64};
	static const unsigned char orders[] = {ELFDATA2LSB, ELFDATA2MSB};

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		int fd = write_elf(classes[i & 1], orders[i >> 1 & 1],
				   i & 4 ? SHT_DYNSYM : SHT_SYMTAB, sample, ARRAY_SIZE(sample));

		check_sample(fd);
		close(fd);
	}
}

/* A file cut short at any byte is refused or has fewer symbols; it never harms. */
static void test_elf_cut(void **state)
{
	int fd = write_elf(ELFCLASS64, ELFDATA2LSB, SHT_SYMTAB, sample, ARRAY_SIZE(sample));
	off_t size = lseek(fd, 0, SEEK_END);

	(void)state;
	while (size-- > 0) {
		cleanup(symtab_freep) struct symtab *s = NULL;
		int r;

		assert_int_equal(ftruncate(fd, size), 0);
		r = symtab_from_elf(&s, fd);
		assert_true(r == SYMTAB_E_OK || r == SYMTAB_E_NONE);
		assert_int_equal(r == SYMTAB_E_OK, s != NULL);
	}
	close(fd);
}

static void test_elf_without_symbols(void **state)
{
	struct symtab *s = NULL;
	int fd;

	(void)state;
	fd = write_elf(ELFCLASS64, ELFDATA2LSB, SHT_SYMTAB, sample, 0);
	assert_int_equal(symtab_from_elf(&s, fd), SYMTAB_E_NONE);
	close(fd);
	fd = memfd_create("text", MFD_CLOEXEC);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(symtab_from_elf(&s, fd), SYMTAB_E_NONE);
	close(fd);
	assert_int_equal(symtab_from_elf(&s, -1), SYMTAB_E_NONE);
	assert_null(s);
	symtab_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_against_model),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_elf),
		cmocka_unit_test(test_elf_cut),
		cmocka_unit_test(test_elf_without_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
