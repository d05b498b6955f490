/* SPDX-License-Identifier: MIT */
/* What a server's answer names, and what of it is passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/report/remote_names.h"
#include "common/cleanup.h"

/* All lines as "ADDRESS=NAME;". */
static void assert_lines(const char *text, size_t length, const char *want)
{
	cleanup(freep) char *got = NULL;
	struct symbol_answer answer = {.lines = text_lines_of((const uint8_t *)text, length)};
	struct symbol_line line;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	assert_non_null(out);
	while (symbol_answer_next(&answer, &line))
		fprintf(out, "%llx=%.*s;", (unsigned long long)line.address, (int)line.length,
			line.name);
	fclose(out);
	assert_string_equal(got, want);
}

#define ASSERT_LINES(text, want) assert_lines(text, sizeof(text) - 1, want)

static void test_lines(void **state)
{
	(void)state;
	ASSERT_LINES("num_symbols: 1\n0x401000 main\n0x401234\tstd::vector<int, x>::f(int) const\n",
		     "401000=main;401234=std::vector<int, x>::f(int) const;");
	ASSERT_LINES("0x0000000000401000 a\r\n0xABCdef  b c \n", "401000=a;abcdef=b c;");
	ASSERT_LINES("0xffffffffffffffff last", "ffffffffffffffff=last;");
	ASSERT_LINES("0x0 zero\n 0x1\tone\n", "0=zero;1=one;");
	ASSERT_LINES("0x1 a\n0x1 b\n", "1=a;1=b;");
}

static void test_passed_over(void **state)
{
	(void)state;
	ASSERT_LINES("", "");
	ASSERT_LINES("\n\n---\n<html>\n", "");
	ASSERT_LINES("0x main\n0xg main\n0 main\nx1 main\n", "");
	ASSERT_LINES("0x12\n0x12 \n0x12main\n0x12\t\r\n", "");
	ASSERT_LINES("0x10000000000000000 too long\n0x1 a\n", "1=a;");
	ASSERT_LINES("0x1 a\0b\n0x2 \0\n", "1=a;");
}

static void test_long_names(void **state)
{
	static char text[3 * SYMBOL_ANSWER_NAME_MAX];
	struct symbol_answer answer = {0};
	struct symbol_line line;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "0x7 ", 4);
	answer.lines = text_lines_of((const uint8_t *)text, sizeof(text));
	assert_true(symbol_answer_next(&answer, &line));
	assert_int_equal(line.address, 7);
	assert_int_equal(line.length, SYMBOL_ANSWER_NAME_MAX);
	assert_false(symbol_answer_next(&answer, &line));
}

static void assert_none(const char *text, bool want)
{
	struct symbol_answer answer = {.lines = text_lines_of((const uint8_t *)text, strlen(text))};
	struct symbol_line line;

	while (symbol_answer_next(&answer, &line))
		;
	assert_int_equal(answer.has_none, want);
}

static void test_no_symbols(void **state)
{
	(void)state;
	assert_none("num_symbols: 0\n", true);
	assert_none("num_symbols: 1\n", false);
	assert_none("num_symbols: 01\n", false);
	assert_none("num_symbols: \n", false);
	assert_none("num_symbols", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_passed_over),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_no_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
