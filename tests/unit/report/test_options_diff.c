/* SPDX-License-Identifier: MIT */
/* The command line of a comparison: which operand is what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/report/options.h"
#include "tests/support/words.h"

/* Parses @line, split at blanks. */
static int parse(const char *line, struct report_arguments *ret, struct profile_message *message)
{
	static struct words words; /* arguments borrow from it */

	words_split(&words, line);
	return report_parse(words.argc, words.argv, true, ret, message);
}

static void test_operands(void **state)
{
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	assert_int_equal(parse("diff --cum old --normalize new", &a, &message), REPORT_E_OK);
	assert_true(a.inputs.is_diff && a.inputs.normalize && a.options.print.by_cum);
	assert_int_equal(a.inputs.n_bases, 1);
	assert_string_equal(a.inputs.bases[0], "old");
	assert_int_equal(a.inputs.n_profiles, 1);
	assert_string_equal(a.inputs.profiles[0], "new");
	report_arguments_deinit(&a);

	assert_int_equal(parse("diff program old new", &a, &message), REPORT_E_OK);
	assert_string_equal(a.inputs.bases[0], "old");
	assert_int_equal(a.inputs.n_profiles, 2);
	assert_string_equal(a.inputs.profiles[0], "program");
	assert_string_equal(a.inputs.profiles[1], "new");
	report_arguments_deinit(&a);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{"diff one", "two profiles are needed"},
		{"diff program old new newer", "two profiles are needed"},
		{"diff --base=old old new", "BASE is an operand"},
		{"diff -s cron.service old new", "two profiles are needed"},
		{"diff --nothing old new", "unknown option"},
		{"diff --since=-1h old new", "cannot be combined with files"},
	};
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line, &a, &message), REPORT_E_BAD_OPTION);
		if (!strstr(message.text, cases[i].why))
			fail_msg("'%s': '%s'", cases[i].line, message.text);
		report_arguments_deinit(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
