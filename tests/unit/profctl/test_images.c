/* SPDX-License-Identifier: MIT */
/* The command line of `profctl images`. */
#include "client/profctl/images.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/profctl/arguments.h"
#include "tests/support/words.h"

static int parse(const char *line, struct images_arguments *ret, struct usage_message *message)
{
	static struct words words; /* arguments borrow from it */

	message->text[0] = '\0';
	words_split(&words, "images");
	words_add(&words, line);
	return images_parse(words.argc, words.argv, ret, message);
}

static void test_options(void **state)
{
	struct images_arguments a;
	struct usage_message message;

	(void)state;
	assert_int_equal(parse("", &a, &message), 0);
	assert_null(a.image);
	assert_null(a.db);
	assert_null(a.epoch);
	assert_int_equal(a.top, 0);
	assert_false(a.json);
	assert_int_equal(parse("libc.so.6 --db /x --epoch=all -e cycles --list=^a --json "
			       "--intel_syntax --source_path=/s --trim_path /t",
			       &a, &message),
			 0);
	assert_string_equal(a.image, "libc.so.6");
	assert_string_equal(a.db, "/x");
	assert_string_equal(a.epoch, "all");
	assert_string_equal(a.event, "cycles");
	assert_string_equal(a.list, "^a");
	assert_string_equal(a.source_path, "/s");
	assert_string_equal(a.trim_path, "/t");
	assert_true(a.json);
	assert_true(a.intel);
	assert_int_equal(parse("--top 1000000 --event=e --epoch 2611211200", &a, &message), 0);
	assert_int_equal(a.top, 1000000);
	assert_int_equal(parse("--diff 20261121120000", &a, &message), 0);
	assert_string_equal(a.diff, "20261121120000");
	assert_int_equal(parse("--cat=-", &a, &message), 0);
	assert_string_equal(a.cat, "-");
	assert_int_equal(parse("--help", &a, &message), VERB_HELP);
}

static void test_refused(void **state)
{
	static const struct {
		const char *line, *word;
	} cases[] = {
		{"a b", "only one IMAGE"},
		{"--top=0", "--top"},
		{"--top=1000001", "--top"},
		{"--top=-1", "--top"},
		{"--top=1x", "--top"},
		{"--list=a", "needs an IMAGE"},
		{"--db=", "--db: empty"},
		{"--epoch=yesterday", "--epoch"},
		{"--epoch=123", "--epoch"},
		{"--diff=all", "--diff"},
		{"--diff=2611211200 --epoch=all", "two epochs"},
		{"a --list=b --top=3", "one of"},
		{"--cat=f --diff=2611211200", "one of"},
		{"--cat=f a", "cannot be combined"},
		{"--cat=f --json", "cannot be combined"},
		{"--cat=f --db=x", "cannot be combined"},
		{"--cat", "argument"},
		{"--unknown", "unknown"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct images_arguments a;
		struct usage_message message;

		assert_int_equal(parse(cases[i].line, &a, &message), OPTIONS_BAD);
		if (!strstr(message.text, cases[i].word))
			fail_msg("%s: %s", cases[i].line, message.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
