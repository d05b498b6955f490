/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/worker/jit/jit_fixture.h"

static int parse(const char *text)
{
	return jit_fixture_file(text, strlen(text));
}

static void expect(int fd, uint64_t address, const char *name, uint64_t start, uint64_t size)
{
	uint64_t found_start, found_size;

	jit_fixture_expect(fd, false, address, &(struct frame_name){.system_name = name},
			   &found_start, &found_size);
	assert_int_equal(found_start, start);
	assert_int_equal(found_size, size);
}

static void test_names_have_blanks(void **state)
{
	cleanup(closep) int j = parse("1000 10 LazyCompile:*f (x) /a b.js:1:2\n"
				      "0x2000 0X1a Ltest;::m\r\n"
				      "  3000\t1  two  blanks \n"
				      "7FA4A8005B80 10 JS:*fib\n");

	(void)state;
	expect(j, 0x1000, "LazyCompile:*f (x) /a b.js:1:2", 0x1000, 0x10);
	expect(j, 0x100f, "LazyCompile:*f (x) /a b.js:1:2", 0x1000, 0x10);
	expect(j, 0x1010, NULL, 0x1010, 0xff0);
	expect(j, 0x2019, "Ltest;::m", 0x2000, 0x1a);
	expect(j, 0x3000, "two  blanks", 0x3000, 1);
	expect(j, 0x7fa4a8005b8f, "JS:*fib", 0x7fa4a8005b80, 0x10);
	expect(j, 0xfff, NULL, 0, 0x1000);
	expect(j, UINT64_MAX - 1, NULL, 0x7fa4a8005b90, UINT64_MAX - 0x7fa4a8005b90);
	expect(j, UINT64_MAX, NULL, UINT64_MAX, 1);
}

static void test_lines_that_are_none(void **state)
{
	cleanup(closep) int j = parse("\n"
				      "1000\n"
				      "1000 10\n"
				      "1000 10 \n"
				      "1000 10\r\n"
				      "x000 10 a\n"
				      "1000 -1 a\n"
				      "0x 10 a\n"
				      "10000000000000000 10 a\n"
				      "1000 10000000000000001 a\n"
				      "1000 0 empty\n"
				      "ffffffffffffff00 101 wraps\n"
				      "ffffffffffffff00 ff last\n"
				      "1000 10 good\n");

	(void)state;
	expect(j, 0x1000, "good", 0x1000, 0x10);
	expect(j, 0x1010, NULL, 0x1010, 0xffffffffffffff00 - 0x1010);
	expect(j, UINT64_MAX - 1, "last", 0xffffffffffffff00, 0xff);
	expect(j, UINT64_MAX, NULL, UINT64_MAX, 1);
}

static void test_what_is_said_last_counts(void **state)
{
	cleanup(closep) int j = parse("1000 100 old\n"
				      "1040 20 middle\n"
				      "0ff0 20 head\n"
				      "10f0 20 tail\n"
				      "1040 20 again\n"
				      "5000 10 a\n"
				      "5000 20 b\n"
				      "0 10 gone\n"
				      "0 10 stays\n");

	(void)state;
	expect(j, 0xff0, "head", 0xff0, 0x20);
	expect(j, 0x100f, "head", 0xff0, 0x20);
	expect(j, 0x1010, "old", 0x1010, 0x30);
	expect(j, 0x1040, "again", 0x1040, 0x20);
	expect(j, 0x1060, "old", 0x1060, 0x90);
	expect(j, 0x10f0, "tail", 0x10f0, 0x20);
	expect(j, 0x500f, "b", 0x5000, 0x20);
	expect(j, 0, "stays", 0, 0x10);
}

static void test_everything_may_be_claimed(void **state)
{
	cleanup(closep) int j = parse("1000 10 mine\n"
				      "0 ffffffffffffffff all\n"
				      "2000 10 later\n");

	(void)state;
	expect(j, 0x1000, "all", 0, 0x2000);
	expect(j, 0x2000, "later", 0x2000, 0x10);
	expect(j, 0x2010, "all", 0x2010, UINT64_MAX - 0x2010);
}

/* Its rest comes with the next write. */
static void test_the_last_line_may_not_be_whole(void **state)
{
	cleanup(closep) int j = parse("1000 10 whole\n2000 10 hal");
	cleanup(closep) int empty = parse("");
	cleanup(closep) int first = parse("1000 10 a");

	(void)state;
	expect(j, 0x1000, "whole", 0x1000, 0x10);
	expect(j, 0x2000, NULL, 0x1010, UINT64_MAX - 0x1010);
	expect(empty, 7, NULL, 0, UINT64_MAX);
	expect(first, 0x1000, NULL, 0, UINT64_MAX);
}

static void test_nul_bytes(void **state)
{
	static const char text[] =
		"\0\0\0\0f00 10 cut away\n1000 10 a\0b\n2000 10 \0x\n3000 10 c\n";
	cleanup(closep) int j = jit_fixture_file(text, sizeof(text) - 1);

	(void)state;
	expect(j, 0xf00, NULL, 0, 0x1000);
	expect(j, 0x1000, "a", 0x1000, 0x10);
	expect(j, 0x2000, NULL, 0x1010, 0x1ff0);
	expect(j, 0x3000, "c", 0x3000, 0x10);
}

static void test_other_files(void **state)
{
	static const char text[] = "\177ELF\2\1\1\n\n...\n";
	const struct jit_question question = {.is_jitdump = false};
	cleanup(closep) int fd = jit_fixture_file(text, sizeof(text) - 1);
	struct jit_names *j = NULL;

	(void)state;
	assert_int_equal(jit_names_new(&j, fd, &question), WORKER_NOT_ELF);
	assert_null(j);
}

/* One as long as the buffer, with its newline, is looked at. */
static void test_lines_of_any_length(void **state)
{
	(void)state;
	for (size_t length = 40; length < 300; length++) {
		char text[512];
		int n = sprintf(text, "1000 10 %0*d\n2000 10 next\n", (int)length - 9, 7);
		cleanup(closep) int fd = jit_fixture_file(text, (size_t)n);

		for (size_t piece = JIT_INPUT_MIN; piece < 300; piece += 5) {
			const uint64_t addresses[] = {0x1000, 0x2000};
			const struct jit_question question = {false, addresses, 2, piece};
			cleanup(jit_names_freep) struct jit_names *j = NULL;
			struct frame_name frame = {0};
			uint64_t start, size;

			assert_int_equal(jit_names_new(&j, fd, &question), WORKER_DONE);
			assert_int_equal(jit_names_get(j, 0, &frame, &start, &size),
					 length <= piece);
			if (length <= piece)
				assert_int_equal(strlen(frame.system_name), length - 9);
			assert_true(jit_names_get(j, 1, &frame, &start, &size));
			assert_string_equal(frame.system_name, "next");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_have_blanks),
		cmocka_unit_test(test_lines_that_are_none),
		cmocka_unit_test(test_what_is_said_last_counts),
		cmocka_unit_test(test_everything_may_be_claimed),
		cmocka_unit_test(test_the_last_line_may_not_be_whole),
		cmocka_unit_test(test_nul_bytes),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_lines_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
