/* SPDX-License-Identifier: MIT */

/* Frames of made-up programs, sound and hostile ones; and what makes ranges flat. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "daemon/worker/dwarf/dwarf_lines.h"
#include "daemon/worker/dwarf/dwarf_lines_private.h"
#include "tests/unit/worker/dwarf/dwarf_lines_fixture.h"

struct world {
	struct bytes abbreviations, info, lines, elf;
	struct dwarf_lines *d;
	struct frame_name frames[8];
	uint64_t start, size;
	size_t n;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	put_abbreviations(&w->abbreviations);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	dwarf_lines_free(w->d);
	free(w);
	return 0;
}

static int open_fds(struct world *w, int image, int debug, int alternate)
{
	int r;

	dwarf_lines_free(w->d);
	w->d = NULL;
	r = dwarf_lines_new(&w->d, &(struct dwarf_lines_files){image, debug, alternate, 1u << 30});
	closep(&image);
	closep(&debug);
	closep(&alternate);
	return r;
}

static void make_elf(struct world *w, uint16_t type)
{
	w->elf.n = 0;
	put_elf(&w->elf, type,
		(struct fixture_section[]){{".debug_abbrev", w->abbreviations.data,
					    w->abbreviations.n, 0, 0},
					   {".debug_info", w->info.data, w->info.n, 0, 0},
					   {".debug_line", w->lines.data, w->lines.n, 0, 0},
					   {0}});
}

static void open_world(struct world *w)
{
	make_elf(w, ET_DYN);
	assert_int_equal(open_fds(w, memory_file(w->elf.data, w->elf.n), -1, -1), WORKER_DONE);
}

static size_t find(struct world *w, uint64_t address, size_t max)
{
	w->n = dwarf_lines_find(w->d, address, w->frames, max, &w->start, &w->size);
	return w->n;
}

static void check(const struct frame_name *f, const char *name, const char *file, uint32_t line,
		  uint32_t start_line)
{
	assert_string_equal(f->system_name, name);
	assert_string_equal(f->file ? f->file : "", file);
	assert_int_equal(f->line, line);
	assert_int_equal(f->start_line, start_line);
}

/*
 * before [1000, 1010); main [1010, 1100), in it a() [1020, 1060) from line 7, in that, and a block,
 * b() [1030, 1040) from line 9 of sub/b.h; after it [1100, 1110). From 1200 on only lines.
 */
static void put_nested(struct world *w, const char *dir)
{
	static const struct row rows[] = {{0x1000, 1, 1},  {0x1020, 2, 21}, {0x1030, 2, 31},
					  {0x1034, 2, 0},  {0x1040, 2, 23}, {0x1060, 1, 8},
					  {0x1200, 1, 50}, {0x1300, 0, 0}};
	size_t a, b;

	put_unit(&w->info, dir);
	a = put_abstract(&w->info, "a", "_Z1av", 20);
	b = put_abstract(&w->info, "b", "_Z1bv", 30);
	put_function(&w->info, "before", 1, 0x1000, 0x10);
	put_number(&w->info, A_END, 1);
	put_number(&w->info, A_NAMESPACE, 1);
	put_text(&w->info, "n");
	put_function(&w->info, "main", 5, 0x1010, 0xf0);
	put_inlined(&w->info, a, 1, 7, 0x1020, 0x40);
	put_number(&w->info, A_BLOCK, 1);
	put_inlined(&w->info, b, 2, 9, 0x1030, 0x10);
	for (int i = 0; i < 5; i++) /* b, block, a, main, namespace */
		put_number(&w->info, A_END, 1);
	put_function(&w->info, "after", 40, 0x1100, 0x10);
	put_number(&w->info, A_END, 1);
	finish_unit(&w->info);
	put_lines(&w->lines, rows);
}

static void test_nested(void **state)
{
	struct world *w = *state;

	put_nested(w, "/f");
	open_world(w);
	assert_int_equal(find(w, 0x1033, 8), 3);
	check(&w->frames[0], "_Z1bv", "/f/sub/b.h", 31, 30);
	check(&w->frames[1], "_Z1av", "/f/sub/b.h", 9, 20);
	check(&w->frames[2], "main", "/f/a.c", 7, 5);
	assert_int_equal(w->start, 0x1010);
	assert_int_equal(w->size, 0xf0);
	assert_int_equal(find(w, 0x1020, 8), 2);
	check(&w->frames[0], "_Z1av", "/f/sub/b.h", 21, 20);
	check(&w->frames[1], "main", "/f/a.c", 7, 5);
	assert_int_equal(find(w, 0x105f, 8), 2);
	check(&w->frames[0], "_Z1av", "/f/sub/b.h", 23, 20);
	assert_int_equal(find(w, 0x1060, 8), 1);
	check(&w->frames[0], "main", "/f/a.c", 8, 5);
	assert_int_equal(find(w, 0x1000, 8), 1);
	check(&w->frames[0], "before", "/f/a.c", 1, 1);
	assert_int_equal(find(w, 0x110f, 8), 1);
	check(&w->frames[0], "after", "/f/a.c", 8, 40);
	/* The compiler's own code, without a line. */
	assert_int_equal(find(w, 0x1034, 8), 3);
	check(&w->frames[0], "_Z1bv", "/f/sub/b.h", 0, 30);
}

static void test_no_function(void **state)
{
	struct world *w = *state;

	put_nested(w, "/f");
	open_world(w);
	assert_int_equal(find(w, 0x1210, 8), 1);
	check(&w->frames[0], "", "/f/a.c", 50, 0);
	assert_int_equal(w->start, 0x1210);
	assert_int_equal(w->size, 1);
	assert_int_equal(find(w, 0x1300, 8), 0);
	assert_int_equal(find(w, 0xfff, 8), 0);
	assert_int_equal(find(w, 0x2000, 8), 0);
	assert_int_equal(find(w, UINT64_MAX, 8), 0);
}

static void test_max(void **state)
{
	struct world *w = *state;

	put_nested(w, "/f");
	open_world(w);
	assert_int_equal(find(w, 0x1033, 2), 2);
	check(&w->frames[0], "_Z1bv", "/f/sub/b.h", 31, 30);
	check(&w->frames[1], "main", "/f/a.c", 7, 5);
	assert_int_equal(find(w, 0x1033, 1), 1);
	check(&w->frames[0], "main", "/f/a.c", 7, 5);
	assert_int_equal(find(w, 0x1033, 0), 0);
}

/* The unit's directory may be relative itself: the build's paths were mapped away. */
static void test_relative_dir(void **state)
{
	struct world *w = *state;

	put_nested(w, "./f");
	open_world(w);
	assert_int_equal(find(w, 0x1033, 8), 3);
	assert_string_equal(w->frames[0].file, "./f/sub/b.h");
	assert_string_equal(w->frames[2].file, "./f/a.c");
}

static void test_debug_file(void **state)
{
	struct world *w = *state;
	struct bytes *plain = calloc(1, sizeof(*plain));

	assert_non_null(plain);
	put_elf(plain, ET_DYN, (struct fixture_section[]){{".text", "", 1, 0, 0}, {0}});
	put_nested(w, "/f");
	make_elf(w, ET_DYN);
	assert_int_equal(open_fds(w, memory_file(plain->data, plain->n),
				  memory_file(w->elf.data, w->elf.n), -1),
			 WORKER_DONE);
	assert_int_equal(find(w, 0x1033, 8), 3);
	/* The debug file has none: the image's counts. */
	assert_int_equal(open_fds(w, memory_file(w->elf.data, w->elf.n),
				  memory_file(plain->data, plain->n), -1),
			 WORKER_DONE);
	assert_int_equal(find(w, 0x1033, 8), 3);
	assert_int_equal(open_fds(w, memory_file(plain->data, plain->n), -1, -1), WORKER_DONE);
	assert_int_equal(find(w, 0x1033, 8), 0);
	assert_int_equal(open_fds(w, memory_file("text", 4), -1, -1), WORKER_NOT_ELF);
	make_elf(w, ET_REL);
	assert_int_equal(open_fds(w, memory_file(w->elf.data, w->elf.n), -1, -1), WORKER_DONE);
	assert_int_equal(find(w, 0x1033, 8), 0);
	free(plain);
}

/* What the linker dropped is at address 0, and may reach into what is really there. */
static void test_dropped_functions(void **state)
{
	struct world *w = *state;

	put_unit(&w->info, "/f");
	put_function(&w->info, "dropped", 1, 0, 0x3000);
	put_number(&w->info, A_END, 1);
	put_function(&w->info, "outside", 1, 0x800, 0x900);
	put_number(&w->info, A_END, 1);
	put_function(&w->info, "wide", 1, 0x1000, 0x800);
	put_number(&w->info, A_END, 1);
	put_function(&w->info, "narrow", 1, 0x1100, 0x10);
	put_number(&w->info, A_END, 1);
	finish_unit(&w->info);
	open_world(w);
	assert_int_equal(find(w, 0x1050, 8), 1);
	assert_string_equal(w->frames[0].system_name, "wide");
	assert_int_equal(find(w, 0x1100, 8), 1);
	assert_string_equal(w->frames[0].system_name, "narrow");
	assert_int_equal(find(w, 0x1110, 8), 1);
	assert_string_equal(w->frames[0].system_name, "wide");
	assert_int_equal(find(w, 0x1900, 8), 0);
}

/* Names behind references: a declaration's, and those of a chain that never ends. */
static void test_chains(void **state)
{
	struct world *w = *state;
	size_t a, cycle;

	put_unit(&w->info, "/f");
	a = put_abstract(&w->info, "a", "_Z1av", 20);
	put_number(&w->info, A_DEFINES, 1);
	put_number(&w->info, a, 4);
	put_range(&w->info, 0x1000, 0x10);
	cycle = w->info.n;
	put_number(&w->info, A_DECLARED, 1);
	put_number(&w->info, cycle, 4);
	put_number(&w->info, A_DEFINES, 1);
	put_number(&w->info, cycle, 4);
	put_range(&w->info, 0x1010, 0x10);
	put_number(&w->info, A_DEFINES, 1);
	put_number(&w->info, 0xffffff, 4);
	put_range(&w->info, 0x1020, 0x10);
	put_function(&w->info, "f", 1, 0x1100, 0x100);
	put_inlined(&w->info, cycle, 1, 7, 0x1110, 0x10);
	put_number(&w->info, A_END, 1);
	put_number(&w->info, A_END, 1);
	finish_unit(&w->info);
	open_world(w);
	assert_int_equal(find(w, 0x1000, 8), 1);
	check(&w->frames[0], "_Z1av", "", 0, 20);
	assert_int_equal(find(w, 0x1010, 8), 1);
	assert_string_equal(w->frames[0].system_name, "");
	assert_int_equal(find(w, 0x1020, 8), 1);
	assert_string_equal(w->frames[0].system_name, "");
	/* An inlined function without a name is none. */
	assert_int_equal(find(w, 0x1110, 8), 1);
	assert_string_equal(w->frames[0].system_name, "f");
}

static void test_deep(void **state)
{
	struct world *w = *state;

	put_unit(&w->info, "/f");
	put_function(&w->info, "f", 1, 0x1100, 0x100);
	for (int i = 0; i < 20000; i++)
		put_number(&w->info, A_BLOCK, 1);
	finish_unit(&w->info);
	open_world(w);
	assert_int_equal(find(w, 0x1100, 8), 1);
	assert_string_equal(w->frames[0].system_name, "f");
}

/* A thousand functions inlined in each other: the innermost and the outermost are told. */
static void test_many_inlined(void **state)
{
	struct world *w = *state;
	size_t a;

	put_unit(&w->info, "/f");
	a = put_abstract(&w->info, "a", "_Z1av", 20);
	put_function(&w->info, "f", 1, 0x1100, 0x100);
	for (int i = 0; i < 1000; i++)
		put_inlined(&w->info, a, 1, 7, 0x1100, 0x100);
	finish_unit(&w->info);
	open_world(w);
	assert_int_equal(find(w, 0x1100, 8), 8);
	assert_string_equal(w->frames[6].system_name, "_Z1av");
	assert_string_equal(w->frames[7].system_name, "f");
}

/* A text that has no end within its unit: the next section must not be read as one. */
static void test_open_text(void **state)
{
	struct world *w = *state;

	put_unit(&w->info, "/f");
	put_number(&w->info, A_NAME_LAST, 1);
	put_range(&w->info, 0x1100, 0x100);
	put(&w->info, "aaaaaaaa", 8);
	finish_unit(&w->info);
	open_world(w);
	assert_int_equal(find(w, 0x1100, 8), 1);
	assert_string_equal(w->frames[0].system_name, "aaaaaaaa");
	/* The unit's last byte was the end of both. */
	w->info.data[w->info.n - 1] = 'a';
	open_world(w);
	assert_int_equal(find(w, 0x1100, 8), 1);
	assert_string_equal(w->frames[0].system_name, "");
}

static void test_claims(void **state)
{
	struct world *w = *state;
	Elf64_Chdr claim = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1ull << 40, .ch_addralign = 1};

	put_nested(w, "/f");
	put_elf(&w->elf, ET_DYN,
		(struct fixture_section[]){{".debug_abbrev", w->abbreviations.data,
					    w->abbreviations.n, 0, 0},
					   {".debug_info", w->info.data, w->info.n, 0, 0},
					   {".debug_str", &claim, sizeof(claim), SHF_COMPRESSED, 0},
					   {0}});
	assert_int_equal(open_fds(w, memory_file(w->elf.data, w->elf.n), -1, -1), WORKER_NO_MEMORY);
	w->elf.n = 0;
	put_elf(&w->elf, ET_DYN,
		(struct fixture_section[]){{".debug_abbrev", w->abbreviations.data,
					    w->abbreviations.n, 0, 0},
					   {".debug_info", w->info.data, w->info.n, 0, 0},
					   {".zdebug_str", "ZLIB\0\0\1\0\0\0\0\0xxxx", 16, 0, 0},
					   {0}});
	assert_int_equal(open_fds(w, memory_file(w->elf.data, w->elf.n), -1, -1), WORKER_NO_MEMORY);
}

/* dwz's file counts if it is the one that is meant. */
static void test_alternate(void **state)
{
	static const char link[] = "alt\0\1\2\3\4\5\6\7", right[] = "\1\2\3\4\5\6\7",
			  wrong[] = "\1\2\3\4\5\6\6";
	struct world *w = *state;

	put_unit(&w->info, "/f");
	put_number(&w->info, A_ALTERNATE, 1);
	put_number(&w->info, 1, 4);
	put_range(&w->info, 0x1100, 0x100);
	put_number(&w->info, A_END, 1);
	finish_unit(&w->info);
	put_elf(&w->elf, ET_DYN,
		(struct fixture_section[]){{".debug_abbrev", w->abbreviations.data,
					    w->abbreviations.n, 0, 0},
					   {".debug_info", w->info.data, w->info.n, 0, 0},
					   {".gnu_debugaltlink", link, sizeof(link), 0, 0},
					   {0}});
	for (int i = 0; i < 2; i++) {
		struct bytes *alternate = calloc(1, sizeof(*alternate));
		struct bytes *note = calloc(1, sizeof(*note));

		assert_non_null(alternate);
		assert_non_null(note);
		put_number(note, 4, 4);
		put_number(note, sizeof(right), 4);
		put_number(note, NT_GNU_BUILD_ID, 4);
		put_text(note, "GNU");
		put(note, i == 0 ? right : wrong, sizeof(right));
		put_elf(alternate, ET_REL,
			(struct fixture_section[]){{".debug_str", "\0other", 7, 0, 0},
						   {".debug_info", "\0\0\0", 4, 0, 0},
						   {".note.gnu.build-id", note->data, note->n, 0,
						    SHT_NOTE},
						   {0}});
		assert_int_equal(open_fds(w, memory_file(w->elf.data, w->elf.n), -1,
					  memory_file(alternate->data, alternate->n)),
				 WORKER_DONE);
		assert_int_equal(find(w, 0x1100, 8), 1);
		assert_string_equal(w->frames[0].system_name, i == 0 ? "other" : "");
		free(alternate);
		free(note);
	}
}

/* Whatever is cut off or damaged: an answer, or none, and nothing past the file. */
static void test_damaged(void **state)
{
	struct world *w = *state;
	size_t length;

	put_nested(w, "/f");
	make_elf(w, ET_DYN);
	length = w->elf.n;
	for (size_t i = 0; i < length; i++) {
		uint8_t was = w->elf.data[i];

		for (unsigned value = 0; value < 256; value += 51) {
			w->elf.data[i] = (uint8_t)value;
			if (open_fds(w, memory_file(w->elf.data, length), -1, -1) == WORKER_DONE)
				for (uint64_t a = 0xff8; a < 0x1310; a += 24)
					assert_true(find(w, a, 8) <= 8);
		}
		w->elf.data[i] = was;
		if (open_fds(w, memory_file(w->elf.data, i), -1, -1) == WORKER_DONE)
			find(w, 0x1033, 8);
	}
}

/* The winner among all ranges at an address, found the slow way. */
static const struct flat_range *slow_find(const struct flat_range *all, size_t n, uint64_t address)
{
	const struct flat_range *best = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct flat_range *r = &all[i];
		uint64_t length = r->end - r->start;

		if (address < r->start || address >= r->end)
			continue;
		if (!best || r->rank > best->rank ||
		    (r->rank == best->rank && length < best->end - best->start))
			best = r;
	}
	return best;
}

static void test_flat(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct flat_range all[40];
		struct flat_ranges f = {0};
		size_t n = (size_t)(rand_r(&seed) % 40);

		for (uint32_t i = 0; i < n; i++) {
			all[i].start = (uint64_t)(rand_r(&seed) % 60);
			all[i].end = all[i].start + (uint64_t)(rand_r(&seed) % 20);
			all[i].rank = (uint32_t)(rand_r(&seed) % 3);
			all[i].value = i;
			assert_int_equal(flat_add(&f, &all[i]), 0);
		}
		assert_int_equal(flat_build(&f), 0);
		assert_true(f.n <= 2 * n);
		for (size_t i = 1; i < f.n; i++)
			assert_true(f.items[i - 1].end <= f.items[i].start);
		for (uint64_t a = 0; a < 82; a++) {
			const struct flat_range *fast = flat_find(&f, a);
			const struct flat_range *slow = slow_find(all, n, a);

			assert_int_equal(fast != NULL, slow != NULL);
			if (slow)
				assert_int_equal(fast->value, slow->value);
		}
		flat_deinit(&f);
	}
}

/* At the very end of what can be addressed. */
static void test_flat_end(void **state)
{
	struct flat_ranges f = {0};

	(void)state;
	assert_int_equal(flat_build(&f), 0);
	assert_null(flat_find(&f, 0));
	assert_int_equal(flat_add(&f, &(struct flat_range){UINT64_MAX - 9, UINT64_MAX, 0, 7}), 0);
	assert_int_equal(flat_add(&f, &(struct flat_range){5, 5, 0, 8}), 0);
	assert_int_equal(flat_add(&f, &(struct flat_range){0, 1, 0, 9}), 0);
	assert_int_equal(flat_build(&f), 0);
	assert_int_equal(flat_find(&f, UINT64_MAX - 1)->value, 7);
	assert_null(flat_find(&f, UINT64_MAX));
	assert_null(flat_find(&f, 5));
	assert_int_equal(flat_find(&f, 0)->value, 9);
	flat_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_function, setup, teardown),
		cmocka_unit_test_setup_teardown(test_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_relative_dir, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dropped_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chains, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_inlined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_claims, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alternate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test(test_flat),
		cmocka_unit_test(test_flat_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
