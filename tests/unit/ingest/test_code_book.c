/* SPDX-License-Identifier: MIT */
/* Numbers of code: one for what is equal, and each means what it meant, as long as it is held. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/ingest/code_book.h"

#define VOLUME ((size_t)1 << 20)
/* Of a volume, what is not in its bytes: where its entries are. */
#define VOLUME_TABLE ((size_t)520 << 10)

/* Nothing where a sanitizer allocates. */
static size_t heap_bytes(void)
{
	const struct mallinfo2 heap = mallinfo2();

	return heap.uordblks + heap.hblkhd;
}

static struct runtime_text text_of(const char *text)
{
	return (struct runtime_text){(const uint8_t *)text, (uint16_t)strlen(text), 1};
}

static struct runtime_code code_of(const char *name, uint32_t line)
{
	static const uint8_t table[] = {0x80, 1, 2};

	return (struct runtime_code){.version = 0x030b,
				     .first_line = line,
				     .name = text_of(name),
				     .file = text_of("/f.py"),
				     .table = table,
				     .table_bytes = sizeof(table)};
}

static void assert_text(const struct runtime_text *text, const char *expected)
{
	assert_int_equal(text->width, 1);
	assert_int_equal(text->n_bytes, strlen(expected));
	assert_memory_equal(text->bytes, expected, text->n_bytes);
}

static uint32_t add_code(struct code_book *book, uint64_t id, const char *name, uint32_t line,
			 bool *ret_forgot)
{
	const struct runtime_code code = code_of(name, line);
	uint32_t number;

	assert_int_equal(code_book_add(book, &(struct code_origin){.id = id}, &code, ret_forgot),
			 0);
	assert_true(code_book_find(book, id, &number));
	return number;
}

static void test_numbers(void **state)
{
	cleanup(code_book_freep) struct code_book *book = NULL;
	struct code_volumes volumes;
	const struct code *code;
	uint32_t f, g, number;
	bool forgot;

	(void)state;
	assert_int_equal(code_book_new(&book, VOLUME), 0);
	assert_false(code_book_find(book, 1, &number));
	f = add_code(book, 1, "f", 7, &forgot);
	assert_true(forgot);
	g = add_code(book, 2, "g", 7, &forgot);
	assert_false(forgot);
	assert_int_not_equal(f, g);
	/* The same code in another process; the same id, of another code by now. */
	assert_int_equal(add_code(book, 3, "f", 7, &forgot), f);
	assert_int_not_equal(add_code(book, 1, "f", 8, &forgot), f);
	code_volumes_take(&volumes, book);
	code_book_free(steal_ptr(&book));
	code = code_volumes_find(&volumes, g);
	assert_text(&code->raw.name, "g");
	assert_text(&code->raw.file, "/f.py");
	assert_int_equal(code->raw.table[2], 2);
	assert_int_equal(code_volumes_find(&volumes, f)->raw.first_line, 7);
	assert_null(code_volumes_find(&volumes, UINT32_MAX));
	assert_null(code_volumes_find(&volumes, f + 100));
	code_volumes_release(&volumes);
	assert_null(code_volumes_find(&volumes, f));
}

/* Equal is what has the same bytes: nobody knows what they mean. */
static void test_bytes(void **state)
{
	static const uint8_t changed_table[] = {0x80, 1, 3};
	cleanup(code_book_freep) struct code_book *book = NULL;
	struct runtime_code codes[9];
	uint32_t numbers[ARRAY_SIZE(codes)];
	bool forgot;

	(void)state;
	assert_int_equal(code_book_new(&book, VOLUME), 0);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		codes[i] = code_of("a\0b", 7);
	codes[1].name = (struct runtime_text){(const uint8_t *)"a\0b", 3, 1};
	codes[2].name = (struct runtime_text){(const uint8_t *)"a\0c", 3, 1};
	codes[3].name.width = 2;
	codes[4].file = text_of("");
	codes[5].table = changed_table;
	codes[6].table_bytes = 2;
	codes[7].version = 0x030c;
	/* The same bytes, elsewhere. */
	codes[8].name = text_of("aaa");
	codes[8].file = text_of("/f.pyx");
	codes[8].file.n_bytes--;
	codes[8].name.n_bytes = 1;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		const struct code_origin origin = {.id = i + 1};

		assert_int_equal(code_book_add(book, &origin, &codes[i], &forgot), 0);
		assert_true(code_book_find(book, i + 1, &numbers[i]));
		for (size_t j = 0; j < i; j++)
			assert_int_equal(numbers[i] == numbers[j], i == 8 && j == 0);
	}
}

/* More than there is room for: what a window holds stays, what nobody does goes. */
static void test_bound(void **state)
{
	cleanup(code_book_freep) struct code_book *book = NULL;
	struct code_volumes held, now;
	const size_t before = heap_bytes();
	unsigned n_forgot = 0;
	uint32_t first, number;
	char name[32];
	bool forgot;

	(void)state;
	assert_int_equal(code_book_new(&book, VOLUME), 0);
	first = add_code(book, 1, "first", 1, &forgot);
	code_volumes_take(&held, book);
	for (uint64_t id = 2; n_forgot < 3; id++) {
		snprintf(name, sizeof(name), "f%llu", (unsigned long long)id);
		add_code(book, id, name, 1, &forgot);
		n_forgot += forgot;
		assert_true(heap_bytes() < before + 3 * (VOLUME + VOLUME_TABLE));
	}
	assert_false(code_book_find(book, 1, &number));
	assert_text(&code_volumes_find(&held, first)->raw.name, "first");
	code_volumes_take(&now, book);
	assert_null(code_volumes_find(&now, first));
	code_volumes_release(&now);
	code_volumes_release(&held);
}

/* Samples that are on their way when a volume is full have their names all the same. */
static void test_turn(void **state)
{
	cleanup(code_book_freep) struct code_book *book = NULL;
	uint32_t first, number, n_forgot = 0;
	struct code_volumes held;
	char name[32];
	bool forgot;

	(void)state;
	assert_int_equal(code_book_new(&book, VOLUME), 0);
	first = add_code(book, 1, "first", 1, &forgot);
	for (uint64_t id = 2; n_forgot < 2; id++) {
		snprintf(name, sizeof(name), "f%llu", (unsigned long long)id);
		add_code(book, id, name, 1, &forgot);
		n_forgot += forgot;
		assert_int_equal(code_book_find(book, 1, &number), n_forgot < 2);
		assert_true(n_forgot == 2 || number == first);
		if (n_forgot == 1 && forgot) {
			code_volumes_take(&held, book);
			assert_text(&code_volumes_find(&held, first)->raw.name, "first");
			code_volumes_release(&held);
		}
	}
}

/* Processes without end that run the same. */
static void test_ids_are_bounded(void **state)
{
	cleanup(code_book_freep) struct code_book *book = NULL;
	const size_t before = heap_bytes();
	unsigned n_forgot = 0;
	bool forgot;

	(void)state;
	assert_int_equal(code_book_new(&book, VOLUME), 0);
	for (uint64_t id = 1; n_forgot < 3; id++) {
		add_code(book, id, "f", 1, &forgot);
		n_forgot += forgot;
		assert_true(heap_bytes() < before + 2 * (VOLUME + VOLUME_TABLE));
	}
}

/* Adds code of a user that is always new, up to the first that is refused; how many were taken. */
static uint64_t fill_share(struct code_book *book, uint32_t uid, uint64_t now_ns, uint64_t first_id)
{
	struct code_origin origin = {.id = first_id, .uid = uid, .now_ns = now_ns};
	bool forgot, any = false;
	char name[32];
	int r;

	do {
		struct runtime_code code;

		snprintf(name, sizeof(name), "f%llu", (unsigned long long)origin.id);
		code = code_of(name, 1);
		r = code_book_add(book, &origin, &code, &forgot);
		any |= forgot;
		origin.id++;
	} while (r == 0);
	assert_int_equal(r, CODE_BOOK_E_SHARE);
	assert_false(any && now_ns < CODE_TURN_NS);
	return origin.id - 1 - first_id;
}

/* Of what users have new all the time, others' names do not go; after a while it has room again. */
static void test_shares(void **state)
{
	cleanup(code_book_freep) struct code_book *book = NULL;
	uint64_t one, other, again;
	uint32_t number;
	bool forgot;

	(void)state;
	assert_int_equal(code_book_new(&book, VOLUME), 0);
	add_code(book, 1, "root's", 1, &forgot);
	one = fill_share(book, 1000, 1, 1000000);
	other = fill_share(book, 1001, 2, 2000000);
	assert_true(one > other && other > 100);
	assert_int_equal(fill_share(book, 1000, 3, 3000000), 0);
	assert_int_equal(fill_share(book, 1002, 4, 4000000), 0);
	assert_true(code_book_find(book, 1, &number) && code_book_find(book, 1000000, &number));
	add_code(book, 2, "root's, too", 1, &forgot);
	assert_false(forgot);
	again = fill_share(book, 1000, CODE_TURN_NS, 5000000);
	assert_true(again >= one);
}

/* The kernel forgets what it has reported where two ids share a place, and reports both at each
 * tick. */
static void test_known_code_is_free(void **state)
{
	const struct runtime_code code = code_of("f", 7);
	cleanup(code_book_freep) struct code_book *book = NULL;
	struct code_origin origin = {.uid = 1000, .now_ns = 1};
	bool forgot;

	(void)state;
	assert_int_equal(code_book_new(&book, VOLUME), 0);
	for (unsigned i = 0; i < 100000; i++) {
		origin.id = i % 2;
		assert_int_equal(code_book_add(book, &origin, &code, &forgot), 0);
		assert_true(forgot == (i == 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_ids_are_bounded),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_known_code_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
