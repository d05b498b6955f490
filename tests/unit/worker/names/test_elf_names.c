/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/worker/elf/debuglink.h"
#include "daemon/worker/names/elf_names.h"
#include "tests/support/hostile_elf.h"

#define AT BUILDER_FIRST /* where .text begins */

static struct symtab *names_of(int image, int debug, bool check_crc)
{
	struct symtab *names = NULL;

	assert_int_equal(elf_names_new(&names, &(struct elf_names_files){image, debug, check_crc}),
			 WORKER_DONE);
	assert_non_null(names);
	return names;
}

static void check_name(const struct symtab *names, uint64_t address, const char *expected,
		       enum worker_source source, uint64_t start, uint64_t size)
{
	struct symtab_symbol name;

	assert_int_equal(symtab_find(names, address, &name), expected != NULL);
	assert_int_equal(name.source, source);
	assert_int_equal(name.start, start);
	assert_int_equal(name.size, size);
	if (expected)
		assert_string_equal(name.name, expected);
}

/* Builds with @b, which is finished, and looks up; the file is gone by then. */
static struct symtab *names_of_builder(struct builder *b)
{
	int fd = builder_memfd(b);
	struct symtab *names = names_of(fd, -1, false);

	close(fd);
	builder_deinit(b);
	return names;
}

static void test_symtab(void **state)
{
	static const struct builder_symbol symbols[] = {
		{"alias", AT, 0x40, BUILDER_LOCAL, 1},
		{"outer@@V1", AT, 0x40, BUILDER_FUNC, 1},
		{"inner", AT + 0x10, 0x10, BUILDER_LOCAL, 1},
		{"label", AT + 0x30, 0, BUILDER_LOCAL, 1},
		{"open", AT + 0x50, 0, BUILDER_FUNC, 1},
		{"chosen", AT + 0x60, 8, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 1},
		{"$x.1", AT + 0x70, 0, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 1},
		{"tail", AT + 0x80, 0, BUILDER_FUNC, 1},
	};
	cleanup(symtab_freep) struct symtab *names = NULL;
	struct builder b;

	(void)state;
	builder_init(&b);
	builder_text(&b, 0x100);
	builder_symbols(&b, ".symtab", SHT_SYMTAB, symbols, ARRAY_SIZE(symbols));
	builder_finish(&b);
	names = names_of_builder(&b);
	check_name(names, AT - 1, NULL, WORKER_SOURCE_NONE, 0, AT);
	check_name(names, AT, "outer", WORKER_SOURCE_SYMTAB, AT, 0x10);
	check_name(names, AT + 0x1f, "inner", WORKER_SOURCE_SYMTAB, AT + 0x10, 0x10);
	check_name(names, AT + 0x38, "outer", WORKER_SOURCE_SYMTAB, AT + 0x20, 0x20);
	check_name(names, AT + 0x4f, NULL, WORKER_SOURCE_NONE, AT + 0x40, 0x10);
	check_name(names, AT + 0x5f, "open", WORKER_SOURCE_SYMTAB, AT + 0x50, 0x10);
	check_name(names, AT + 0x60, "chosen", WORKER_SOURCE_SYMTAB, AT + 0x60, 8);
	check_name(names, AT + 0x70, NULL, WORKER_SOURCE_NONE, AT + 0x68, 0x18);
	check_name(names, AT + 0xff, "tail", WORKER_SOURCE_SYMTAB, AT + 0x80, 0x80);
	check_name(names, AT + 0x100, NULL, WORKER_SOURCE_NONE, AT + 0x100,
		   UINT64_MAX - AT - 0x100);
	check_name(names, UINT64_MAX, NULL, WORKER_SOURCE_NONE, UINT64_MAX, 1);
	assert_true(symtab_bytes(names) > 0 && symtab_bytes(names) < 1000);
	symtab_free(NULL);
}

/* --- several sources ---------------------------------------------------------------------------
 */

static const struct builder_symbol full[] = {
	{"from_symtab", AT, 0x20, BUILDER_FUNC, 1},
	{"unsized", AT + 0x40, 0, BUILDER_FUNC, 1},
};
static const struct builder_symbol mini[] = {
	{"from_debugdata", AT, 0x30, BUILDER_FUNC, 1},
	{"in_debugdata", AT + 0x40, 0x10, BUILDER_LOCAL, 1},
	{"reaches", AT + 0x70, 0, BUILDER_LOCAL, 1},
};
static const struct builder_symbol separate[] = {
	{"from_debug", AT, 0x40, BUILDER_FUNC, 1},
	{"also_debug", AT + 0x80, 0x10, BUILDER_FUNC, 1},
};
static const struct builder_symbol dynamic[] = {
	{"from_dynsym", AT, 0x100, BUILDER_FUNC, 1},
};

static void build_image(struct builder *b, bool with_symtab)
{
	struct builder inner;
	size_t length;
	uint8_t *xz;

	builder_init(&inner);
	builder_text(&inner, 0x100);
	builder_symbols(&inner, ".symtab", SHT_SYMTAB, mini, ARRAY_SIZE(mini));
	builder_finish(&inner);
	xz = hostile_xz(inner.data, inner.n, 1, &length);
	builder_deinit(&inner);

	builder_init(b);
	builder_text(b, 0x100);
	if (with_symtab)
		builder_symbols(b, ".symtab", SHT_SYMTAB, full, ARRAY_SIZE(full));
	builder_symbols(b, ".dynsym", SHT_DYNSYM, dynamic, ARRAY_SIZE(dynamic));
	builder_section(b, ".gnu_debugdata", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, xz, length);
	builder_build_id(b, 0x11);
	free(xz);
}

static int debug_file(uint8_t id, uint64_t shift, bool second_moved)
{
	struct builder b;
	int fd;

	builder_init(&b);
	builder_text(&b, 0x100);
	builder_symbols(&b, ".symtab", SHT_SYMTAB, separate, ARRAY_SIZE(separate));
	builder_build_id(&b, id);
	builder_segment(&b, PT_LOAD, PF_R | PF_X, 0x100000, 0x10);
	b.segments[0].p_vaddr -= shift;
	b.segments[2].p_vaddr -= second_moved ? 0 : shift;
	for (unsigned i = 1; i <= ARRAY_SIZE(separate); i++)
		((Elf64_Sym *)builder_at(&b, 2))[i].st_value -= shift;
	builder_finish(&b);
	fd = builder_memfd(&b);
	builder_deinit(&b);
	return fd;
}

static void test_order_of_sources(void **state)
{
	cleanup(symtab_freep) struct symtab *names = NULL;
	struct builder b;
	int image, debug;

	(void)state;
	build_image(&b, true);
	builder_finish(&b);
	image = builder_memfd(&b);
	builder_deinit(&b);
	debug = debug_file(0x11, 0, false);
	names = names_of(image, debug, false);
	check_name(names, AT, "from_symtab", WORKER_SOURCE_SYMTAB, AT, 0x20);
	check_name(names, AT + 0x20, "from_debugdata", WORKER_SOURCE_DEBUGDATA, AT + 0x20, 0x10);
	check_name(names, AT + 0x30, "from_debug", WORKER_SOURCE_DEBUG, AT + 0x30, 0x10);
	/* An unsized one hides no sized one, whatever its source. */
	check_name(names, AT + 0x40, "in_debugdata", WORKER_SOURCE_DEBUGDATA, AT + 0x40, 0x10);
	check_name(names, AT + 0x70, "from_dynsym", WORKER_SOURCE_DYNSYM, AT + 0x50, 0x30);
	check_name(names, AT + 0x80, "also_debug", WORKER_SOURCE_DEBUG, AT + 0x80, 0x10);
	check_name(names, AT + 0x90, "from_dynsym", WORKER_SOURCE_DYNSYM, AT + 0x90, 0x70);
	close(image);
	close(debug);
}

/* An unsized symbol ends where the next one begins, though that is in another table. */
static void test_unsized_across_sources(void **state)
{
	static const struct builder_symbol first[] = {{"open", AT + 0x10, 0, BUILDER_FUNC, 1}};
	static const struct builder_symbol second[] = {{"next", AT + 0x30, 0, BUILDER_FUNC, 1},
						       {"end", AT + 0x50, 8, BUILDER_FUNC, 1}};
	cleanup(symtab_freep) struct symtab *names = NULL;
	struct builder b;

	(void)state;
	builder_init(&b);
	builder_text(&b, 0x100);
	builder_symbols(&b, ".symtab", SHT_SYMTAB, first, 1);
	builder_symbols(&b, ".dynsym", SHT_DYNSYM, second, 2);
	builder_finish(&b);
	names = names_of_builder(&b);
	check_name(names, AT + 0x2f, "open", WORKER_SOURCE_SYMTAB, AT + 0x10, 0x20);
	check_name(names, AT + 0x30, "next", WORKER_SOURCE_DYNSYM, AT + 0x30, 0x20);
	check_name(names, AT + 0x58, NULL, WORKER_SOURCE_NONE, AT + 0x58, UINT64_MAX - AT - 0x58);
}

/* --- the separate file --------------------------------------------------------------------------
 */

static const char *name_with(int image, int debug, bool check_crc)
{
	cleanup(symtab_freep) struct symtab *names = names_of(image, debug, check_crc);
	struct symtab_symbol name;

	assert_true(symtab_find(names, AT + 0x38, &name));
	return name.source == WORKER_SOURCE_DEBUG ? "debug" : "none";
}

/* Leaves the first 8 of the 20 bytes of the build id. */
static void shorten_build_id(int fd)
{
	uint8_t file[4096];
	ssize_t n = pread(fd, file, sizeof(file), 0);
	const uint8_t *name = memmem(file, (size_t)n, "GNU", 4);
	const uint32_t length = 8;

	assert_non_null(name);
	assert_int_equal(pwrite(fd, &length, 4, name - file - 8), 4);
}

static void test_separate_file_counts(void **state)
{
	int image, same, other, moved, torn;
	struct builder b;

	(void)state;
	build_image(&b, false);
	builder_finish(&b);
	image = builder_memfd(&b);
	builder_deinit(&b);
	same = debug_file(0x11, 0, false);
	other = debug_file(0x12, 0, false);
	assert_string_equal(name_with(image, same, false), "debug");
	assert_string_equal(name_with(image, other, false), "none");
	assert_string_equal(name_with(image, other, true), "none");
	/* The image as its own debug file: nothing new, nothing endless. */
	assert_string_equal(name_with(image, image, true), "none");
	shorten_build_id(same);
	assert_string_equal(name_with(image, same, false), "none");
	close(image);

	build_image(&b, false);
	builder_segment(&b, PT_LOAD, PF_R | PF_X, 0x100000, 0x10);
	builder_finish(&b);
	image = builder_memfd(&b);
	builder_deinit(&b);
	moved = debug_file(0x11, 0x200, false);
	torn = debug_file(0x11, 0x200, true);
	assert_string_equal(name_with(image, moved, false), "debug");
	assert_string_equal(name_with(image, torn, false), "none");
	close(image);
	close(same);
	close(other);
	close(moved);
	close(torn);
}

static void put_link(uint8_t link[12], uint32_t crc)
{
	memcpy(link, "a.debug", 8);
	memcpy(link + 8, &crc, 4);
}

static void test_crc(void **state)
{
	int debug = debug_file(0x33, 0, false), image;
	uint8_t link[12];
	uint32_t crc = 0;

	(void)state;
	assert_true(debuglink_crc(debug, &crc));
	for (unsigned right = 0; right < 2; right++) {
		struct builder b;

		put_link(link, crc + 1 - right);
		build_image(&b, false);
		builder_section(&b, ".gnu_debuglink", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, link,
				sizeof(link));
		builder_finish(&b);
		image = builder_memfd(&b);
		builder_deinit(&b);
		assert_string_equal(name_with(image, debug, true), right ? "debug" : "none");
		/* Found otherwise, it would have to have the build id. */
		assert_string_equal(name_with(image, debug, false), "none");
		close(image);
	}
	close(debug);
}

/* --- .dynsym without section headers ------------------------------------------------------------
 */

static void check_dynamic(struct builder *b, unsigned n)
{
	cleanup(symtab_freep) struct symtab *names = names_of_builder(b);
	struct symtab_symbol name;

	check_name(names, AT, "first", WORKER_SOURCE_DYNSYM, AT, 0x40);
	assert_int_equal(symtab_find(names, AT + 0x40, &name), n >= 2);
	assert_int_equal(symtab_find(names, AT + 0x80, &name), n >= 3);
	/* Unsized: up to the end of the executable segment. */
	if (n >= 3)
		check_name(names, AT + 0xff, "third", WORKER_SOURCE_DYNSYM, AT + 0x80, 0x80);
}

static void test_dynamic(void **state)
{
	/* Buckets, symbols; and: buckets, first symbol, filter, shift, filter, buckets, chains. */
	static const uint32_t hash[] = {1, 3};
	static const uint32_t gnu[] = {2, 1, 1, 6, 0, 0, 1, 2, 5, 4, 7};
	static const uint32_t gnu_of_one[] = {2, 1, 1, 6, 0, 0, 1, 0, 5};
	struct builder b;

	(void)state;
	hostile_dynamic_with(&b, DT_HASH, hash, sizeof(hash));
	check_dynamic(&b, 2);
	hostile_dynamic_with(&b, DT_GNU_HASH, gnu, sizeof(gnu));
	check_dynamic(&b, 3);
	hostile_dynamic_with(&b, DT_GNU_HASH, gnu_of_one, sizeof(gnu_of_one));
	check_dynamic(&b, 1);
	hostile_dynamic_with(&b, DT_HASH, hash, sizeof(hash));
	hostile_dynamic_move(&b, 0x7f0000000000);
	check_dynamic(&b, 2);
	hostile_dynamic_with(&b, DT_GNU_HASH, gnu, sizeof(gnu));
	hostile_dynamic_move(&b, 0x7f0000000000);
	check_dynamic(&b, 3);
}

/* --- compressed sections ------------------------------------------------------------------------
 */

static void compress_section(struct builder *b, unsigned i)
{
	uLongf length = 4096;
	uint8_t out[4096];
	uint64_t size = b->sections[i].sh_size;

	assert_int_equal(compress(out, &length, builder_at(b, i), size), Z_OK);
	hostile_compressed(b, i, size, out, length);
}

static void test_compressed(void **state)
{
	cleanup(symtab_freep) struct symtab *names = NULL;
	struct builder b;

	(void)state;
	hostile_base(&b);
	compress_section(&b, 2);
	compress_section(&b, 3);
	builder_finish(&b);
	names = names_of_builder(&b);
	check_name(names, AT, "first", WORKER_SOURCE_SYMTAB, AT, 0x40);
	check_name(names, AT + 0x40, "second", WORKER_SOURCE_SYMTAB, AT + 0x40, 0x40);
}

/* --- what is no image ---------------------------------------------------------------------------
 */

static void test_outcomes(void **state)
{
	struct symtab *names = NULL;
	struct builder b;
	int fd;

	(void)state;
	fd = memfd_create("text", MFD_CLOEXEC);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(elf_names_new(&names, &(struct elf_names_files){fd, -1, false}),
			 WORKER_NOT_ELF);
	close(fd);
	assert_int_equal(elf_names_new(&names, &(struct elf_names_files){fd, -1, false}),
			 WORKER_UNREADABLE);
	assert_null(names);
	hostile_plain(&b);
	builder_header(&b)->e_type = ET_REL;
	names = names_of_builder(&b);
	check_name(names, AT, NULL, WORKER_SOURCE_NONE, 0, UINT64_MAX);
	symtab_free(names);
}

/* A file cut short at any byte has an outcome, and a separate file cut short takes nothing away. */
static void test_cut(void **state)
{
	int whole, cut;
	struct builder b;
	off_t size;

	(void)state;
	build_image(&b, true);
	builder_finish(&b);
	whole = builder_memfd(&b);
	cut = builder_memfd(&b);
	builder_deinit(&b);
	for (size = lseek(cut, 0, SEEK_END); size-- > 0;) {
		struct symtab *names = NULL;
		struct worker_image inspected;
		int r;

		assert_int_equal(ftruncate(cut, size), 0);
		r = elf_names_new(&names, &(struct elf_names_files){cut, -1, true});
		assert_true(r == WORKER_DONE || r == WORKER_NOT_ELF || r == WORKER_MALFORMED);
		assert_int_equal(r == WORKER_DONE, names != NULL);
		assert_int_equal(elf_inspect(cut, &inspected), r);
		symtab_free(names);
		names = names_of(whole, cut, true);
		check_name(names, AT, "from_symtab", WORKER_SOURCE_SYMTAB, AT, 0x20);
		symtab_free(names);
	}
	close(cut);
	close(whole);
}

/* --- inspection ---------------------------------------------------------------------------------
 */

static void test_inspect(void **state)
{
	static const uint8_t alternate[] = "/usr/lib/debug/.dwz/x\0\1\2\3";
	struct worker_image i;
	uint8_t link[12];
	struct builder b;
	int fd;

	(void)state;
	put_link(link, 0x12345678);
	build_image(&b, true);
	builder_section(&b, ".debug_line", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, "x", 1);
	builder_section(&b, ".gnu_debuglink", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, link, 12);
	builder_section(&b, ".gnu_debugaltlink", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, alternate,
			sizeof(alternate) - 1);
	builder_finish(&b);
	fd = builder_memfd(&b);
	assert_int_equal(elf_inspect(fd, &i), WORKER_DONE);
	assert_true(i.has_symtab && i.has_debugdata && i.has_lines);
	assert_string_equal(i.debuglink, "a.debug");
	assert_int_equal(i.debuglink_crc, 0x12345678);
	assert_string_equal(i.alternate, "/usr/lib/debug/.dwz/x");
	assert_int_equal(i.alternate_id_length, 3);
	assert_memory_equal(i.alternate_id, "\1\2\3", 3);
	assert_int_equal(i.elf.build_id_length, 20);
	assert_int_equal(i.elf.machine, EM_X86_64);
	close(fd);
	builder_deinit(&b);

	hostile_links_without_end(&b);
	fd = builder_memfd(&b);
	assert_int_equal(elf_inspect(fd, &i), WORKER_DONE);
	assert_true(i.has_symtab && !i.has_debugdata && !i.has_lines);
	assert_string_equal(i.debuglink, "");
	assert_string_equal(i.alternate, "");
	close(fd);
	builder_deinit(&b);
}

/* What dwz makes has no segments, and its build id in a section that is not loaded. */
static void test_inspect_without_segments(void **state)
{
	uint32_t note[9] = {4, 20, NT_GNU_BUILD_ID};
	struct worker_image i;
	struct builder b;
	int fd;

	(void)state;
	memcpy(&note[3], "GNU", 4);
	memset(&note[4], 0xcd, 20);
	builder_init(&b);
	b.header.e_type = ET_REL;
	builder_section(&b, ".note.gnu.build-id",
			&(Elf64_Shdr){.sh_type = SHT_NOTE, .sh_addralign = 4}, note, sizeof(note));
	builder_section(&b, ".debug_line", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, "x", 1);
	builder_finish(&b);
	fd = builder_memfd(&b);
	assert_int_equal(elf_inspect(fd, &i), WORKER_DONE);
	assert_true(i.has_lines && !i.has_symtab);
	assert_int_equal(i.elf.n_segments, 0);
	assert_int_equal(i.elf.build_id_length, 20);
	assert_memory_equal(i.elf.build_id, &note[4], 20);
	close(fd);
	builder_deinit(&b);
}

static void test_links(void **state)
{
	static const uint8_t wrong[][12] = {"../x\0\0\0\0aaa", "..\0\0aaaa", "\0\0\0\0aaaa",
					    "x.debug"};
	struct worker_image image;
	uint8_t path[WORKER_LINK_MAX + 8];

	(void)state;
	assert_true(debuglink_parse((const uint8_t *)"abc\0\1\2\3\4", 8, false, &image));
	assert_string_equal(image.debuglink, "abc");
	assert_int_equal(image.debuglink_crc, 0x04030201);
	assert_true(debuglink_parse((const uint8_t *)"abcd\0\0\0\0\1\2\3\4", 12, true, &image));
	assert_int_equal(image.debuglink_crc, 0x01020304);
	assert_false(debuglink_parse((const uint8_t *)"abc\0\1\2\3\4", 7, false, &image));
	for (unsigned i = 0; i < ARRAY_SIZE(wrong) - 1; i++)
		assert_false(debuglink_parse(wrong[i], 12, false, &image));
	assert_false(debuglink_parse(wrong[3], 7, false, &image));
	assert_false(debuglink_parse(wrong[0], 0, false, &image));

	memset(path, 'a', sizeof(path));
	assert_false(debugaltlink_parse(path, sizeof(path), &image));
	path[WORKER_LINK_MAX - 1] = '\0';
	assert_true(debugaltlink_parse(path, sizeof(path), &image));
	assert_int_equal(image.alternate_id_length, 8);
	path[WORKER_LINK_MAX - 1] = 'a';
	path[WORKER_LINK_MAX] = '\0';
	assert_false(debugaltlink_parse(path, sizeof(path), &image));
	memset(path, 0, sizeof(path));
	path[0] = 'a';
	assert_false(debugaltlink_parse(path, 3 + WORKER_ID_MAX, &image));
	assert_true(debugaltlink_parse(path, 2 + WORKER_ID_MAX, &image));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symtab),
		cmocka_unit_test(test_order_of_sources),
		cmocka_unit_test(test_unsized_across_sources),
		cmocka_unit_test(test_separate_file_counts),
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_inspect),
		cmocka_unit_test(test_inspect_without_segments),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
