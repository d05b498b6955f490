/* SPDX-License-Identifier: MIT */
/* Columns and case, whatever the locale is; and what a filter means. */
#include "client/top/characters.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_columns(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		unsigned columns;
		bool is_printable;
	} cases[] = {
		{"a", 1, 1, true},
		{"\xc3\xa9", 2, 1, true},         /* e with acute */
		{"\xe6\xbc\xa2", 3, 2, true},     /* Han */
		{"\xea\xb0\x80", 3, 2, true},     /* Hangul */
		{"\xef\xbc\xa1", 3, 2, true},     /* fullwidth A */
		{"\xef\xbd\xb1", 3, 1, true},     /* halfwidth katakana */
		{"\xf0\x9f\x98\x80", 4, 2, true}, /* a face */
		{"\xcc\x81", 2, 0, true},         /* combining acute */
		{"\xe2\x80\x8b", 3, 0, true},     /* zero width space */
		{"\xee\x80\x80", 3, 1, true},     /* private */
		{"\xcd\xb8", 2, 1, true},         /* none yet */
		{"\xe2\x80\xae", 3, 1, false},    /* right to left override */
		{"\xc2\x9b", 2, 1, false},        /* CSI */
		{"\x1b", 1, 1, false},
		{"\x7f", 1, 1, false},
		{"\xff", 1, 1, false},
		{"\xe6\xbc", 1, 1, false}, /* cut off */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct character c = character_at(cases[i].text);

		if (c.n != cases[i].n || c.columns != cases[i].columns ||
		    c.is_printable != cases[i].is_printable)
			fail_msg("case %zu: %zu bytes, %u columns, %d", i, c.n, c.columns,
				 c.is_printable);
	}
	assert_int_equal(characters_columns("a\xe6\xbc\xa2"
					    "e\xcc\x81\xff"),
			 5);
	assert_int_equal(characters_columns(""), 0);
}

static void test_filter(void **state)
{
	static const struct {
		const char *filter, *name;
		bool matches;
	} cases[] = {
		{"", "", true},
		{"", "main", true},
		{"main", "", false},
		{"ain", "main", true},
		{"ain", "mai", false},
		{"aab", "aaab", true},
		{"main", "WinMain", true},
		{"Main", "WinMain", true},
		{"Main", "winmain", false},
		{"mAin", "main", false},
		{"::push", "std::Vector::PUSH_back", true},
		{"gr\xc3\xbc\xc3\x9f",
		 "GR\xc3\x9c\xc3\x9f"
		 "E",
		 true}, /* u umlaut */
		{"GR\xc3\x9c", "gr\xc3\xbc", false},
		{"\xd0\xb6", "\xd0\x96", true}, /* Cyrillic */
		{"\xd0\x96", "\xd0\xb6", false},
		{"\xc3", "\xc3\xbc", false}, /* half of one */
		{"\xff", "a\xff", true},
		{"\xff", "a\xfe", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (name_filter_matches(cases[i].filter, cases[i].name) != cases[i].matches)
			fail_msg("case %zu", i);
}

/* The user's locale is none of UTF-8; what is known of Unicode is known all the same. */
static int in_plain_locale(void **state)
{
	(void)state;
	if (!setlocale(LC_ALL, "C"))
		return -1;
	characters_begin();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_filter),
	};

	return cmocka_run_group_tests(tests, in_plain_locale, NULL);
}
