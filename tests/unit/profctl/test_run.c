/* SPDX-License-Identifier: MIT */
/* The command line of `profctl run`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "client/profctl/arguments.h"
#include "tests/support/words.h"

static int parse(const char *line, struct run_arguments *ret, struct usage_message *message)
{
	static struct words words; /* arguments borrow from it */

	words_split(&words, line);
	return run_parse(words.argc, words.argv, ret, message);
}

static void test_good(void **state)
{
	static const struct {
		const char *line, *output, *command;
		uint32_t frequency;
		enum any_format format;
	} cases[] = {
		{"run ls", "", "ls", 99, ANY_PPROF},
		{"run -F 1 -o a.prof ls -F 7", "a.prof", "ls", 1, ANY_CPUPROFILE},
		{"run --frequency=4000 --output b.collapsed -- ls -l", "b.collapsed", "ls", 4000,
		 ANY_COLLAPSED},
		{"run -o .prof -- -strange", ".prof", "-strange", 99, ANY_PPROF},
		{"run -oprof -- --help", "prof", "--help", 99, ANY_PPROF},
	};
	struct usage_message message;
	struct run_arguments a;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line, &a, &message), 0);
		assert_string_equal(a.output.path, cases[i].output);
		assert_string_equal(a.command[0], cases[i].command);
		assert_int_equal(a.frequency, cases[i].frequency);
		assert_int_equal(a.output.format, cases[i].format);
	}
	assert_int_equal(parse("run -F 5 ls -F 7 -o x", &a, &message), 0);
	assert_string_equal(a.command[1], "-F");
	assert_string_equal(a.command[4], "x");
	assert_null(a.command[5]);
	assert_int_equal(parse("run -F 7 --help", &a, &message), VERB_HELP);
}

static void test_bad(void **state)
{
	static const char *const lines[] = {
		"run",         "run --",           "run -F 0 ls",   "run -F 4001 ls", "run -F x ls",
		"run -o - ls", "run --output= ls", "run --what ls", "run -F",         "run -o",
	};
	struct run_arguments a;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct usage_message message = {""};

		assert_int_equal(parse(lines[i], &a, &message), OPTIONS_BAD);
		assert_true(*message.text && !strchr(message.text, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
