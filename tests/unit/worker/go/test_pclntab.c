/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/worker/go/pclntab.h"
#include "daemon/worker/names/elf_names.h"
#include "tests/support/hostile_elf_builder.h"
#include "tests/unit/worker/go/pclntab_fixture.h"

#define TEXT (BUILDER_FIRST + 0x20ull) /* C's code lies before it */

static const uint64_t starts[] = {TEXT, TEXT + 0x40, TEXT + 0x60};
static const char *const names[] = {"_rt0_amd64_linux", "main.(*tree[...]).each", "main.main"};

static struct pclntab_spec spec_of(uint32_t magic, unsigned pointer_size)
{
	return (struct pclntab_spec){.magic = magic,
				     .pointer_size = pointer_size,
				     .text = TEXT,
				     .starts = starts,
				     .names = names,
				     .n = ARRAY_SIZE(names),
				     .end = TEXT + 0x90};
}

/* In memory that ends where the table does, so that a sanitizer sees what is read behind it. */
static uint8_t *copy(const struct pclntab_bytes *bytes, size_t length)
{
	uint8_t *data = malloc(length ? length : 1);

	assert_non_null(data);
	memcpy(data, bytes->data, length);
	return data;
}

static bool is_table(const struct pclntab_bytes *bytes, size_t length)
{
	cleanup(freep) uint8_t *data = copy(bytes, length);
	struct pclntab table;

	return pclntab_parse(data, length, &table);
}

/* Whether function @i of a table has all that it is to have. */
static bool has_function(const struct pclntab_bytes *bytes, size_t length, unsigned i)
{
	cleanup(freep) uint8_t *data = copy(bytes, length);
	struct pclntab_function f;
	struct pclntab table;

	assert_true(pclntab_parse(data, length, &table));
	return pclntab_function(&table, i, &f);
}

static void check_versions(uint32_t magic, unsigned pointer_size)
{
	struct pclntab_spec spec = spec_of(magic, pointer_size);
	struct pclntab_bytes bytes;
	struct pclntab table;

	pclntab_make(&spec, &bytes);
	assert_true(pclntab_parse(bytes.data, bytes.length, &table));
	assert_int_equal(table.n_functions, spec.n);
	for (unsigned i = 0; i < spec.n; i++) {
		struct pclntab_function f;

		assert_true(pclntab_function(&table, i, &f));
		assert_int_equal(f.start, starts[i]);
		assert_int_equal(f.end, i + 1 < spec.n ? starts[i + 1] : spec.end);
		assert_true(span_is(f.name, names[i]));
	}
}

static void test_versions(void **state)
{
	static const uint32_t magics[] = {PCLNTAB_GO_1_2, PCLNTAB_GO_1_16, PCLNTAB_GO_1_18,
					  PCLNTAB_GO_1_20};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(magics); i++) {
		check_versions(magics[i], 8);
		check_versions(magics[i], 4);
	}
}

/* Bytes that are no header of any version. */
static void test_refused(void **state)
{
	struct pclntab_spec spec = spec_of(PCLNTAB_GO_1_20, 8);
	static const struct {
		size_t at;
		uint8_t byte;
	} changes[] = {{1, 0xfe}, {4, 1}, {5, 1}, {6, 0}, {6, 3}, {7, 2}, {7, 16}};
	struct pclntab_bytes bytes;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(changes); i++) {
		pclntab_make(&spec, &bytes);
		bytes.data[changes[i].at] = changes[i].byte;
		assert_false(is_table(&bytes, bytes.length));
	}
	pclntab_make(&spec, &bytes);
	for (size_t n = 0; n < bytes.functions + 40 * spec.n; n++)
		assert_false(is_table(&bytes, n));
	assert_true(is_table(&bytes, bytes.length));
}

/* One of a release to come: what it says as the newest known one does is taken. */
static void test_unknown_version(void **state)
{
	struct pclntab_spec spec = spec_of(PCLNTAB_GO_1_20, 8);
	struct pclntab_bytes bytes;
	struct pclntab_function f;
	struct pclntab table;

	(void)state;
	pclntab_make(&spec, &bytes);
	assert_true(pclntab_parse(bytes.data, bytes.length, &table));
	assert_true(table.is_known);
	pclntab_put(bytes.data, 0xfffffff2u, 4);
	assert_true(pclntab_parse(bytes.data, bytes.length, &table));
	assert_false(table.is_known);
	for (unsigned i = 0; i < spec.n; i++) {
		assert_true(pclntab_function(&table, i, &f));
		assert_int_equal(f.start, starts[i]);
	}
	/* What is said of the first function is elsewhere. */
	bytes.data[bytes.functions + 4] += 4;
	assert_false(pclntab_function(&table, 0, &f));
	assert_true(pclntab_function(&table, 1, &f));
}

/* Positions outside of the table, in the header (fields of 8 bytes) and in what it leads to. */
static void test_positions(void **state)
{
	struct pclntab_spec spec = spec_of(PCLNTAB_GO_1_18, 8);
	static const unsigned fields[] = {0, 3, 7};
	struct pclntab_bytes bytes;
	uint8_t *entries, *more;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
		pclntab_make(&spec, &bytes);
		pclntab_put(bytes.data + 8 + (size_t)8 * fields[i], UINT64_MAX - 7, 8);
		assert_false(is_table(&bytes, bytes.length));
	}
	/* What is said of the function lies behind the end, or ends there before its name does. */
	pclntab_make(&spec, &bytes);
	entries = bytes.data + bytes.functions;
	for (size_t at = bytes.length - bytes.functions - 7;
	     at <= bytes.length - bytes.functions + 1; at++) {
		pclntab_put(entries + 4, at, 4);
		assert_false(has_function(&bytes, bytes.length, 0));
		assert_true(has_function(&bytes, bytes.length, 1));
	}
	/* A name without an end, one behind the end, an empty one. */
	pclntab_make(&spec, &bytes);
	assert_false(has_function(&bytes, bytes.length - 1, 2));
	more = entries + 7 * 4;
	pclntab_put(more + 4, bytes.length - bytes.names, 4);
	assert_false(has_function(&bytes, bytes.length, 0));
	pclntab_put(more + 4, 0, 4);
	assert_false(has_function(&bytes, bytes.length, 0));
	/* One that ends where it begins. */
	pclntab_make(&spec, &bytes);
	pclntab_put(entries + 8, 0, 4);
	assert_false(has_function(&bytes, bytes.length, 0));
	assert_true(has_function(&bytes, bytes.length, 1));
}

static void test_long_names(void **state)
{
	static char longest[PCLNTAB_NAME_MAX + 1], longer[PCLNTAB_NAME_MAX + 2];
	const char *const all[] = {longest, longer};

	(void)state;
	memset(longest, 'n', sizeof(longest) - 1);
	memset(longer, 'n', sizeof(longer) - 1);
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		struct pclntab_spec spec = spec_of(PCLNTAB_GO_1_20, 8);
		struct pclntab_bytes bytes;
		struct pclntab_function f;
		struct pclntab table;

		spec.names = &all[i];
		spec.n = 1;
		pclntab_make(&spec, &bytes);
		assert_true(pclntab_parse(bytes.data, bytes.length, &table));
		assert_true(pclntab_function(&table, 0, &f));
		assert_int_equal(f.name.length, PCLNTAB_NAME_MAX);
	}
}

/* --- in files --------------------------------------------------------------------------------- */

enum place { SECTION, PIE_SECTION, DATA };

#define DATA_AT 0x9004u /* where data begins: the table itself is aligned */
#define BEFORE  164u

struct program {
	enum place place;
	uint64_t text;       /* as the header has it */
	uint64_t relocation; /* of the header's text; 0: none */
	uint64_t entry;
	bool is_plain_data; /* not made by Go */
	uint32_t magic;
};

static int make_program(const struct program *p)
{
	static const char *const sections[] = {[SECTION] = ".gopclntab",
					       [PIE_SECTION] = ".data.rel.ro.gopclntab",
					       [DATA] = ".data.rel.ro"};
	struct pclntab_spec spec = spec_of(p->magic ? p->magic : PCLNTAB_GO_1_20, 8);
	size_t before = p->place == DATA ? BEFORE : 0;
	uint8_t data[BEFORE + PCLNTAB_BYTES_MAX] = {0};
	struct pclntab_bytes bytes;
	struct builder b;
	unsigned section;
	int fd;

	pclntab_make(&spec, &bytes);
	if (!p->magic)
		pclntab_put(bytes.data + 8 + 2 * 8, p->text, 8);
	memcpy(data + before, bytes.data, bytes.length);
	/* What looks like a header: of no functions, and of one that has no code. */
	if (before) {
		memcpy(data + 4, bytes.data, 8);
		memcpy(data + 4 + 80, bytes.data, 8);
		data[4 + 80 + 8] = 1;
	}
	builder_init(&b);
	b.header.e_entry = p->entry;
	builder_text(&b, 0x100);
	section = builder_section(&b, sections[p->place],
				  &(Elf64_Shdr){.sh_type = SHT_PROGBITS,
						.sh_flags = SHF_ALLOC,
						.sh_addr = before ? DATA_AT : 0},
				  data, before + bytes.length);
	if (!p->is_plain_data)
		builder_section(&b, ".go.buildinfo",
				&(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, NULL,
				16);
	if (p->relocation) {
		const uint64_t at = b.sections[section].sh_addr + before + 8 + 2 * 8;
		const Elf64_Rela relocations[] = {
			{at, ELF64_R_INFO(1, R_X86_64_64), 0x77},
			{at - 8, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x77},
			{at, ELF64_R_INFO(0, R_X86_64_RELATIVE), (Elf64_Sxword)p->relocation},
		};

		builder_section(&b, ".rela.dyn",
				&(Elf64_Shdr){.sh_type = SHT_RELA, .sh_flags = SHF_ALLOC},
				relocations, sizeof(relocations));
	}
	builder_finish(&b);
	fd = builder_memfd(&b);
	builder_deinit(&b);
	return fd;
}

/* @has_names: its functions are where they lie, and no others. */
static void check_program(const struct program *p, bool has_names)
{
	cleanup(symtab_freep) struct symtab *found = NULL;
	cleanup(closep) int fd = make_program(p);
	struct symtab_symbol name;

	assert_int_equal(elf_names_new(&found, &(struct elf_names_files){fd, -1, false}),
			 WORKER_DONE);
	assert_false(symtab_find(found, TEXT - 1, &name));
	assert_false(symtab_find(found, TEXT + 0x90, &name));
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(symtab_find(found, starts[i] + 0x1f, &name), has_names);
		if (!has_names)
			continue;
		assert_string_equal(name.name, names[i]);
		assert_int_equal(name.source, WORKER_SOURCE_PCLNTAB);
		assert_int_equal(name.start, starts[i]);
	}
}

static void test_places(void **state)
{
	(void)state;
	check_program(&(struct program){SECTION, .text = TEXT}, true);
	check_program(&(struct program){PIE_SECTION, .text = TEXT}, true);
	check_program(&(struct program){DATA, .text = TEXT}, true);
	check_program(&(struct program){DATA, .text = TEXT, .is_plain_data = true}, false);
	check_program(&(struct program){SECTION, .magic = PCLNTAB_GO_1_2}, true);
	check_program(&(struct program){SECTION, .magic = PCLNTAB_GO_1_16}, true);
}

/* Where the header does not say where the code begins. */
static void test_text(void **state)
{
	(void)state;
	check_program(&(struct program){DATA, .relocation = TEXT}, true);
	check_program(&(struct program){SECTION, .relocation = TEXT}, true);
	/* .text begins before it does: the entry is C's, or another function of Go's by chance. */
	check_program(&(struct program){SECTION, .entry = BUILDER_FIRST - 8}, false);
	check_program(&(struct program){SECTION, .entry = BUILDER_FIRST + 8}, false);
	check_program(&(struct program){SECTION, .entry = BUILDER_FIRST + 0x40}, false);
}

/* The code is all of .text: the program's entry is of the runtime. */
static void test_entry(void **state)
{
	const struct program program = {SECTION, .entry = BUILDER_FIRST};
	cleanup(symtab_freep) struct symtab *found = NULL;
	cleanup(closep) int fd = make_program(&program);
	struct symtab_symbol name;

	(void)state;
	assert_int_equal(elf_names_new(&found, &(struct elf_names_files){fd, -1, false}),
			 WORKER_DONE);
	assert_true(symtab_find(found, BUILDER_FIRST, &name));
	assert_string_equal(name.name, "_rt0_amd64_linux");
}

/* @b with the table in it. */
static int finish(struct builder *b, const struct pclntab_bytes *bytes)
{
	int fd;

	builder_section(b, ".gopclntab",
			&(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, bytes->data,
			bytes->length);
	builder_finish(b);
	fd = builder_memfd(b);
	builder_deinit(b);
	return fd;
}

/* .symtab's names are preferred, those of .dynsym are not. */
static void test_preference(void **state)
{
	static const struct builder_symbol symbols[] = {
		{"symtab", BUILDER_FIRST, 0x20, BUILDER_FUNC, 1}};
	static const struct builder_symbol dynamic[] = {
		{"dynsym", BUILDER_FIRST, 0x60, BUILDER_FUNC, 1}};
	static const uint64_t start = BUILDER_FIRST;
	static const char *const own = "go";
	const struct pclntab_spec spec = {PCLNTAB_GO_1_20,      8,   BUILDER_FIRST, &start, &own, 1,
					  BUILDER_FIRST + 0x40, NULL};
	cleanup(symtab_freep) struct symtab *found = NULL;
	struct pclntab_bytes bytes;
	struct symtab_symbol name;
	struct builder b;
	int fd;

	(void)state;
	pclntab_make(&spec, &bytes);
	builder_init(&b);
	builder_text(&b, 0x100);
	builder_symbols(&b, ".symtab", SHT_SYMTAB, symbols, 1);
	builder_symbols(&b, ".dynsym", SHT_DYNSYM, dynamic, 1);
	fd = finish(&b, &bytes);
	assert_int_equal(elf_names_new(&found, &(struct elf_names_files){fd, -1, false}),
			 WORKER_DONE);
	close(fd);
	assert_true(symtab_find(found, BUILDER_FIRST + 0x10, &name));
	assert_string_equal(name.name, "symtab");
	assert_true(symtab_find(found, BUILDER_FIRST + 0x30, &name));
	assert_string_equal(name.name, "go");
	assert_true(symtab_find(found, BUILDER_FIRST + 0x50, &name));
	assert_string_equal(name.name, "dynsym");
}

/* Many functions of one name: no more bytes of names than the table has. */
static void test_shared_names(void **state)
{
	enum { N = 12, LENGTH = 200 };
	char long_name[LENGTH + 1];
	uint64_t at[N];
	const char *all[N];
	struct pclntab_spec spec = {PCLNTAB_GO_1_20,        8,   BUILDER_FIRST, at, all, N,
				    BUILDER_FIRST + 16 * N, NULL};
	struct symtab_entries list = {0};
	cleanup(elf_image_deinit) struct elf_image image = {0};
	struct pclntab_bytes bytes;
	size_t names_max, sum = 0;
	struct builder b;
	int fd;

	(void)state;
	memset(long_name, 'n', LENGTH);
	long_name[LENGTH] = '\0';
	for (unsigned i = 0; i < N; i++) {
		at[i] = BUILDER_FIRST + 16 * i;
		all[i] = i ? "" : long_name;
	}
	pclntab_make(&spec, &bytes);
	for (unsigned i = 0; i < N; i++) /* what is said of the first one is said of all */
		memcpy(bytes.data + bytes.functions + 8 * i + 4, bytes.data + bytes.functions + 4,
		       4);
	builder_init(&b);
	builder_text(&b, 0x100);
	fd = finish(&b, &bytes);
	assert_int_equal(elf_image_open(&image, fd, 1 << 20), WORKER_DONE);
	assert_int_equal(pclntab_collect(&image, 1, &list, &names_max), 0);
	assert_int_equal(names_max, bytes.length);
	assert_in_range(list.n, 1, N - 1);
	for (size_t i = 0; i < list.n; i++)
		sum += list.entries[i].name_length + 1;
	assert_true(sum <= names_max);
	symtab_entries_deinit(&list);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unknown_version),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_preference),
		cmocka_unit_test(test_shared_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
