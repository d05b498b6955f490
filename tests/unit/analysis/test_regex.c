/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/regex.h"
#include "common/profile/pprof.h"

static bool matches(const char *pattern, const char *text)
{
	cleanup(regex_freep) struct regex *r = NULL;

	assert_int_equal(regex_new(&r, "x", pattern, NULL), REGEX_E_OK);
	return regex_matches(r, text);
}

/* What RE2 and PCRE2 could differ in. */
static void test_matches(void **state)
{
	(void)state;
	assert_true(matches("b", "abc"));
	assert_false(matches("^b", "abc"));
	assert_true(matches("c$", "abc"));
	assert_false(matches("c$", "abc\n"));
	assert_false(matches("a.c", "a\nc"));
	assert_true(matches("(?s)a.c", "a\nc"));
	assert_true(matches("(?i)ABC", "xabcx"));
	assert_true(matches("^.$", "\xc3\xa9")); /* one character */
	assert_true(matches("(?i)\xc3\x89", "\xc3\xa9"));
	assert_true(matches("^[[:alpha:]]+$", "abc"));
	assert_false(matches("^\\w$", "\xc3\xa9"));
	assert_true(matches("(?P<name>x)\\z", "ax"));
	assert_true(matches("\\Qa.b\\E", "a.b"));
	assert_false(matches("\\Qa.b\\E", "axb"));
	assert_true(matches("\\bfoo\\b", "a foo b"));
	assert_true(matches("", ""));
	assert_true(matches("^\\p{Lu}", "X"));
	assert_true(matches("a", "\xff\xfe"
				 "a")); /* texts need not be UTF-8 */
}

static void test_refusals(void **state)
{
	static const char *const all[] = {"(",  "a)",   "[",   "*",  "a{2,1}",
					  "\\", "\xff", "(?<", "\\C"};
	struct profile_message message;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct regex *r = NULL;

		assert_int_equal(regex_new(&r, "focus", all[i], &message), REGEX_E_INVALID);
		assert_null(r);
		assert_int_equal(strncmp(message.text, "focus: ", 7), 0);
	}
	assert_int_equal(regex_new(&(struct regex *){NULL}, "focus", "(", NULL), REGEX_E_INVALID);
}

static void test_giving_up(void **state)
{
	cleanup(regex_freep) struct regex *r = NULL;
	char text[64];

	(void)state;
	memset(text, 'a', 40);
	strcpy(text + 40, "!");
	assert_int_equal(regex_new(&r, "x", "^(a+)+$", NULL), REGEX_E_OK);
	assert_true(regex_matches(r, "aaa"));
	assert_false(regex_matches(r, text));
	assert_int_equal(regex_n_given_up(r), 1);
	assert_true(regex_matches(r, "aaa"));
	for (int i = 0; i < REGEX_GIVE_UP_MAX; i++)
		regex_matches(r, text);
	assert_int_equal(regex_n_given_up(r), REGEX_GIVE_UP_MAX);
	assert_false(regex_matches(r, "aaa"));
}

/* Such repetitions never give back: "a++", which is a step, at every place. */
static void test_long_text(void **state)
{
	const size_t length = 1 << 20;
	cleanup(regex_freep) struct regex *r = NULL;
	cleanup(freep) char *text = malloc(length + 1);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', length);
	text[length] = '\0';
	assert_int_equal(regex_new(&r, "x", "a+[bc]", NULL), REGEX_E_OK);
	assert_false(regex_matches(r, text));
	assert_int_equal(regex_n_given_up(r), 1);
	text[200] = 'b';
	assert_true(regex_matches(r, text));
	text[16000] = '\0';
	memset(text, 'a', 16000);
	assert_false(regex_matches(r, text));
	assert_int_equal(regex_n_given_up(r), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_giving_up),
		cmocka_unit_test(test_long_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
