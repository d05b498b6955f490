/* SPDX-License-Identifier: MIT */
/* Names from image workers: the real one, and one that some files are too much for. */
#include <elf.h>

#include "common/worker/memory.h"
#include "tests/unit/output/symbols_fixture.h"

/* Names of the program's own file, and an unchanged window asks for nothing. */
static void test_names(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);
	uint64_t addresses[] = {0, vaddr_of(first_target), vaddr_of(second_target)};
	const struct symbols_names *names;
	struct symbols_stats before;

	if (addresses[1] > addresses[2]) {
		addresses[1] = vaddr_of(second_target);
		addresses[2] = vaddr_of(first_target);
	}
	for (unsigned i = 0; i < 2; i++) {
		symbols_begin_window(s);
		assert_int_equal(symbols_prepare(s, image, addresses, 3, false, &names), 0);
		assert_string_equal(name_at(s, image, vaddr_of(first_target)), "first_target");
		assert_string_equal(name_at(s, image, vaddr_of(second_target)), "second_target");
		assert_string_equal(name_at(s, image, 0), ""); /* in the ELF header */
		/* One entry answers every address of the function. */
		assert_string_equal(name_at(s, image, vaddr_of(first_target) + 1), "first_target");
		if (i == 0)
			before = stats_of(s);
	}
	assert_int_equal(before.images_asked, 1);
	assert_int_equal(before.addresses_asked, 3);
	assert_int_equal(stats_of(s).addresses_asked, 3);
	assert_int_equal(stats_of(s).images_asked, 1);
	assert_int_equal(stats_of(s).workers_died, 0);
	assert_string_equal(stats_of(s).trouble, "");
}

/* Lines are other answers than functions; every frame has its place. */
static void test_lines(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);
	uint64_t addresses[2] = {vaddr_of(first_target), vaddr_of(first_target) + 1};
	const struct symbols_frame *frames;
	const struct symbols_names *names;
	uint32_t n;

	assert_string_equal(name_at(s, image, addresses[0]), "first_target");
	assert_int_equal(symbols_prepare(s, image, addresses, 2, true, &names), 0);
	assert_int_equal(stats_of(s).addresses_asked, 3);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(symbols_names_find(names, addresses[i], &frames, &n));
		assert_int_equal(n, 1);
		assert_string_equal(symbols_names_text(names, frames[0].name), "first_target");
		/* Builds without debug information have no lines. */
		if (frames[0].line)
			assert_non_null(strstr(symbols_names_text(names, frames[0].file),
					       "symbols_fixture.h"));
	}
	assert_false(symbols_names_find(names, addresses[1] + 1, &frames, &n));
}

static void test_headers(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);
	cleanup(image_unrefp) struct image *text = make_copy(f, 11, 0);

	assert_int_equal(symbols_headers(s, image), 0);
	assert_non_null(image_elf(image));
	assert_int_equal(image_elf(image)->pointer_bytes, sizeof(void *));
	assert_true(image_elf(image)->n_segments > 1);
	write_text(f->dir.fd, "copy-11",
		   "no ELF file at all, and longer than a header of one "
		   "would be, so that it is read to the end");
	assert_int_equal(symbols_headers(s, text), 0);
	assert_true(image_has_headers(text));
	assert_null(image_elf(text));
	assert_null(name_at(s, text, 0x1000));
	/* Nothing to read: nothing found out. */
	assert_int_equal(symbols_headers(s, f->anon), 0);
	assert_false(image_has_headers(f->anon));
}

/* The least recently used image goes when the bound is passed, and is asked for again. */
static void test_bound(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	cleanup(image_unrefp) struct image *a = make_copy(f, 10, 0);
	cleanup(image_unrefp) struct image *b = make_copy(f, 11, 0);
	uint64_t address = vaddr_of(first_target);

	assert_string_equal(name_at(s, a, address), "first_target");
	assert_string_equal(name_at(s, b, address), "first_target");
	assert_string_equal(name_at(s, a, address), "first_target");
	symbols_set_max(s, symbols_bytes(s) - 1);
	assert_string_equal(name_at(s, a, address), "first_target");
	assert_int_equal(stats_of(s).addresses_asked, 2);
	assert_string_equal(name_at(s, b, address), "first_target");
	assert_int_equal(stats_of(s).addresses_asked, 3);
	symbols_set_max(s, 0);
	assert_int_equal(symbols_bytes(s), 0);
	/* One image stays, however big, until the next is needed. */
	assert_string_equal(name_at(s, a, address), "first_target");
	assert_string_equal(name_at(s, b, address), "first_target");
}

/* While memory is short, half of the bound is kept. */
static void test_short_memory(void **state)
{
	struct fixture *f = *state;
	struct memory_budget budget = {.bytes = UINT64_C(1) << 40};
	const struct symbols_options options = {.max_bytes = 8 << 20, .budget = &budget};
	cleanup(symbols_freep) struct symbols *s = NULL;
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);
	size_t bytes;

	assert_int_equal(symbols_new(&s, &options), 0);
	assert_string_equal(name_at(s, image, vaddr_of(first_target)), "first_target");
	bytes = symbols_bytes(s);
	symbols_set_max(s, bytes);
	symbols_begin_window(s);
	assert_int_equal(symbols_bytes(s), bytes);
	budget.other_bytes = budget.bytes;
	symbols_begin_window(s);
	assert_true(symbols_bytes(s) <= bytes / 2);
}

/* Files that a worker dies of, hangs over or lies about are bad; all others have their names. */
static void test_hostile(void **state)
{
	static const char marks[] = "dlhi";
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(TEST_PROGRAMS "/picky_worker");
	uint64_t address = vaddr_of(first_target);

	for (unsigned i = 0; marks[i]; i++) {
		cleanup(image_unrefp) struct image *bad = make_copy(f, 20 + i, marks[i]);
		cleanup(image_unrefp) struct image *good = make_copy(f, 40 + i, 0);
		uint64_t asked;

		if (marks[i] == 'i')
			assert_int_equal(symbols_headers(s, bad), 0);
		assert_null(name_at(s, bad, address));
		assert_true(bad->is_bad);
		asked = stats_of(s).addresses_asked;
		assert_null(name_at(s, bad, address));
		assert_int_equal(symbols_headers(s, bad), 0);
		assert_int_equal(stats_of(s).addresses_asked, asked);
		/* At once, in the same window. */
		assert_string_equal(name_at(s, good, address), "first_target");
		assert_false(good->is_bad);
		assert_int_equal(stats_of(s).bad_images, i + 1);
		assert_int_equal(stats_of(s).workers_died, i + 1);
		assert_string_equal(stats_of(s).last_bad_image, "/bin/copy");
	}
	assert_string_equal(stats_of(s).trouble, "");
}

/* A window loses two deadlines, and no more; the next one has its own. */
static void test_what_a_window_loses(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(TEST_PROGRAMS "/picky_worker");
	cleanup(image_unrefp) struct image *good = make_copy(f, 40, 0);
	uint64_t address = vaddr_of(first_target);

	for (unsigned i = 0; i < 3; i++) {
		cleanup(image_unrefp) struct image *bad = make_copy(f, 20 + i, 'h');

		assert_null(name_at(s, bad, address));
		assert_int_equal(bad->is_bad, i < 2);
	}
	assert_null(name_at(s, good, address));
	symbols_begin_window(s);
	assert_string_equal(name_at(s, good, address), "first_target");
}

/* Answers that are sound and wrong stay within themselves. */
static void test_wrong(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(TEST_PROGRAMS "/picky_worker");
	cleanup(image_unrefp) struct image *wrong = make_copy(f, 20, 'w');
	uint64_t addresses[3] = {0x1000, 0x1006, 0x1020};
	const struct symbols_names *names;

	assert_int_equal(symbols_prepare(s, wrong, addresses, 3, false, &names), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(name_at(s, wrong, addresses[i]), "wrong");
	assert_int_equal(stats_of(s).addresses_asked, 3);
}

/* Without a worker there are no names, now; nothing is to blame. */
static void test_no_worker(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols("/nonexistent/worker");
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);

	assert_int_equal(symbols_headers(s, image), 0);
	assert_false(image_has_headers(image));
	assert_null(name_at(s, image, vaddr_of(first_target)));
	assert_false(image->is_bad);
	assert_int_equal(stats_of(s).bad_images, 0);
	assert_string_not_equal(stats_of(s).trouble, "");
	assert_null(symbols_vdso(s));
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_names),
		T(test_lines),
		T(test_headers),
		T(test_bound),
		T(test_short_memory),
		T(test_hostile),
		T(test_what_a_window_loses),
		T(test_wrong),
		T(test_no_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
