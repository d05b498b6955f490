/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/utf8.h"

static void test_characters(void **state)
{
	static const struct {
		const char *text;
		size_t length, n;
	} cases[] = {
		{"", 0, 0},
		{"", 1, 1}, /* a NUL */
		{"a", 1, 1},
		{"\x7f", 1, 1},
		{"\x80", 1, 0},
		{"\xc3\xa9", 2, 2},
		{"\xc3\xa9", 1, 0}, /* cut */
		{"\xc1\xbf", 2, 0}, /* not the shortest form */
		{"\xe0\x9f\xbf", 3, 0},
		{"\xe0\xa0\x80", 3, 3},
		{"\xed\x9f\xbf", 3, 3},
		{"\xed\xa0\x80", 3, 0}, /* a surrogate */
		{"\xe2\x80\xa6", 3, 3},
		{"\xe2\x80", 2, 0},
		{"\xe2\x80x", 3, 0},
		{"\xf0\x8f\xbf\xbf", 4, 0},
		{"\xf0\x90\x80\x80", 4, 4},
		{"\xf4\x8f\xbf\xbf", 4, 4},
		{"\xf4\x90\x80\x80", 4, 0}, /* past U+10FFFF */
		{"\xf5\x80\x80\x80", 4, 0},
		{"\xff", 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(utf8_character(cases[i].text, cases[i].length), cases[i].n);
}

static void check_repair(const char *text, const char *wanted)
{
	char *repaired = utf8_repair(text);

	assert_non_null(repaired);
	assert_string_equal(repaired, wanted);
	assert_true(utf8_is_valid(repaired));
	assert_int_equal(utf8_is_valid(text), strcmp(text, wanted) == 0);
	free(repaired);
}

static void test_repair(void **state)
{
	(void)state;
	check_repair("", "");
	check_repair("caf\xc3\xa9 \n", "caf\xc3\xa9 \n");
	check_repair("\xff\xfe", UTF8_REPLACEMENT UTF8_REPLACEMENT);
	/* As the kernel cuts names. */
	check_repair("name\xe2\x80", "name" UTF8_REPLACEMENT UTF8_REPLACEMENT);
	check_repair("a\xc3z", "a" UTF8_REPLACEMENT "z");
}

/* Wherever in a text something else than ASCII is. */
static void test_places(void **state)
{
	char text[40];

	(void)state;
	for (size_t length = 1; length < sizeof(text); length++)
		for (size_t at = 0; at < length; at++) {
			memset(text, 'a', length);
			text[length] = '\0';
			assert_true(utf8_is_valid(text));
			text[at] = '\xc3';
			assert_false(utf8_is_valid(text));
			if (at + 1 == length)
				continue;
			text[at + 1] = '\xa9';
			assert_true(utf8_is_valid(text));
		}
}

static void check_harmless(const char *text, const char *wanted)
{
	char copy[64], *written;
	size_t length;
	FILE *out = open_memstream(&written, &length);

	assert_non_null(out);
	assert_true(strlen(text) < sizeof(copy));
	strcpy(copy, text);
	utf8_make_harmless(copy, "");
	assert_string_equal(copy, wanted);
	utf8_write_harmless(out, text, "");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(written, wanted);
	free(written);
}

static void test_harmless(void **state)
{
	(void)state;
	check_harmless("", "");
	check_harmless("caf\xc3\xa9 \xe2\x82\xac", "caf\xc3\xa9 \xe2\x82\xac");
	check_harmless("\x1b[31m\t\r\n\x7f", "?[31m????");
	/* CSI as terminals of 8 bits know it, and as those of UTF-8 do. */
	check_harmless("\x9b"
		       "31m",
		       "?31m");
	check_harmless("\xc2\x9b"
		       "31m",
		       "?31m");
	/* What turns texts around, and its neighbours, which do not. */
	check_harmless("a\xe2\x80\xaez\xd8\x9c\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e", "a?z????");
	check_harmless("\xe2\x80\xaf\xe2\x81\xa5\xe2\x80\x8d",
		       "\xe2\x80\xaf\xe2\x81\xa5\xe2\x80\x8d");
	check_harmless("\xc3\x9b \xc2\xa0", "\xc3\x9b \xc2\xa0");
	check_harmless("\xc3\xa9\x9b", "\xc3\xa9?");
	check_harmless("\xff\xe9", "\xff\xe9");
}

static void test_width(void **state)
{
	(void)state;
	assert_int_equal(utf8_length(""), 0);
	assert_int_equal(utf8_length("caf\xc3\xa9"), 4);
	assert_int_equal(utf8_length("\xff\xe2\x82\xac"), 2);
	assert_int_equal(utf8_field_width("cafe", 10), 10);
	assert_int_equal(utf8_field_width("caf\xc3\xa9", 10), 11);
}

/* What is written is what was read, for each length and at its ends. */
static void test_write(void **state)
{
	static const uint32_t codes[] = {0,      0x41,    0x7f,    0x80,    0xe9,
					 0x7ff,  0x800,   0x20ac,  0xd7ff,  0xe000,
					 0xffff, 0x10000, 0x1f600, 0x10ffff};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		char text[UTF8_SIZE];
		size_t n = utf8_write(text, codes[i]);

		assert_int_equal(utf8_character(text, n), n);
		assert_int_equal(utf8_code_point(text, n), codes[i]);
		assert_int_equal(text[n], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters), cmocka_unit_test(test_repair),
		cmocka_unit_test(test_places),     cmocka_unit_test(test_harmless),
		cmocka_unit_test(test_width),      cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
