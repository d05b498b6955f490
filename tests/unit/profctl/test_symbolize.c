/* SPDX-License-Identifier: MIT */
/* The command line of `profctl symbolize`. */
#include "client/profctl/arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/profctl/arguments.h"
#include "common/cleanup.h"
#include "tests/support/words.h"

static int parse(const char *line, struct symbolize_arguments *ret, struct usage_message *message)
{
	static struct words words; /* arguments borrow from it */

	message->text[0] = '\0';
	words_split(&words, line);
	return symbolize_parse(words.argc, words.argv, ret, message);
}

static void test_options(void **state)
{
	static const char *const lines[] = {
		"symbolize --lines --debuginfod http://a --debuginfod https://b -o out in",
		"symbolize in -oout --debuginfod=http://a --lines --debuginfod=https://b",
		"symbolize --output out --debuginfod http://a --debuginfod=https://b --lines -- in",
		"symbolize --output=out --debuginfod http://a in --debuginfod=https://b --lines",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct symbolize_arguments a;
		struct usage_message message;

		if (parse(lines[i], &a, &message))
			fail_msg("%s: %s", lines[i], message.text);
		assert_string_equal(a.profile, "in");
		assert_string_equal(a.output, "out");
		assert_true(a.want_lines);
		assert_int_equal(a.n_urls, 2);
		assert_string_equal(a.urls[0], "http://a");
		assert_string_equal(a.urls[1], "https://b");
	}
}

static void test_defaults(void **state)
{
	struct symbolize_arguments a;
	struct usage_message message;

	(void)state;
	assert_int_equal(parse("symbolize -o - -", &a, &message), 0);
	assert_string_equal(a.profile, "-");
	assert_string_equal(a.output, "-");
	assert_false(a.want_lines);
	assert_int_equal(a.n_urls, 0);
	assert_int_equal(parse("symbolize --help", &a, &message), VERB_HELP);
}

static void test_refused(void **state)
{
	static const char *const lines[] = {
		"symbolize",
		"symbolize in",
		"symbolize -o out",
		"symbolize -o out in in",
		"symbolize -o out -o other in",
		"symbolize -o",
		"symbolize --lines=yes -o out in",
		"symbolize --debuginfod host -o out in",
		"symbolize --debuginfod -o out in",
		"symbolize --json -o out in",
		"symbolize --functions -o out in",
	};
	struct symbolize_arguments a;
	struct usage_message message;
	char many[1024] = "symbolize -o out in";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (parse(lines[i], &a, &message) != OPTIONS_BAD || !message.text[0])
			fail_msg("%s", lines[i]);
	}
	for (unsigned i = 0; i < SYMBOLIZE_URLS_MAX; i++)
		strcat(many, " --debuginfod http://x");
	assert_int_equal(parse(many, &a, &message), 0);
	strcat(many, " --debuginfod http://x");
	assert_int_equal(parse(many, &a, &message), OPTIONS_BAD);
}

static void test_url_of_several_words(void **state)
{
	char *argv[] = {(char[]){"symbolize"},
			(char[]){"-o"},
			(char[]){"out"},
			(char[]){"--debuginfod"},
			(char[]){"http://a http://b"},
			(char[]){"in"}};
	struct symbolize_arguments a;
	struct usage_message message;

	(void)state;
	assert_int_equal(symbolize_parse(ARRAY_SIZE(argv), argv, &a, &message), OPTIONS_BAD);
	argv[4][8] = '\0';
	assert_int_equal(symbolize_parse(ARRAY_SIZE(argv), argv, &a, &message), 0);
	argv[2][0] = '\0';
	assert_int_equal(symbolize_parse(ARRAY_SIZE(argv), argv, &a, &message), OPTIONS_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_url_of_several_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
