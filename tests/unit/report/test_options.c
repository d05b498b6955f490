/* SPDX-License-Identifier: MIT */
/* The one table of options, as the command line and the prompt read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/shape.h"
#include "client/report/options.h"
#include "common/cleanup.h"
#include "tests/support/words.h"

static int parse(const char *line, struct report_arguments *ret, struct profile_message *message)
{
	static struct words words; /* arguments borrow from it */

	words_split(&words, "report");
	words_add(&words, line);
	return report_parse(words.argc, words.argv, false, ret, message);
}

static void test_dashes_and_arguments(void **state)
{
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	assert_int_equal(parse("-focus=a --ignore b -nodecount 7 --nodefraction=.25 -trim=false "
			       "p.pb.gz -tree --cum",
			       &a, &message),
			 REPORT_E_OK);
	assert_string_equal(a.options.shape.focus, "a");
	assert_string_equal(a.options.shape.ignore, "b");
	assert_string_equal(a.options.shape.hide, "");
	assert_int_equal(a.options.print.nodecount, 7);
	assert_true(a.options.print.nodefraction > .249 && a.options.print.nodefraction < .251);
	assert_false(a.options.print.trim);
	assert_int_equal(a.options.view, REPORT_TREE);
	assert_int_equal(a.options.print.by_cum, 1);
	assert_int_equal(a.inputs.n_profiles, 1);
	report_arguments_deinit(&a);
}

static void test_defaults(void **state)
{
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	assert_int_equal(parse("-- -text", &a, &message), REPORT_E_OK);
	assert_string_equal(a.inputs.profiles[0], "-text");
	assert_int_equal(a.options.view, REPORT_NO_VIEW);
	assert_int_equal(a.options.print.nodecount, VIEW_NODECOUNT_DEFAULT);
	assert_int_equal(a.options.shape.granularity, SHAPE_FUNCTIONS);
	assert_string_equal(a.options.print.unit, "minimum");
	assert_true(a.options.print.trim);
	report_arguments_deinit(&a);
}

/* What is said to be false does not exclude what is chosen. */
static void test_choices(void **state)
{
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	assert_int_equal(parse("-lines=f -files -cum=0 -flat p", &a, &message), REPORT_E_OK);
	assert_int_equal(a.options.shape.granularity, SHAPE_FILES);
	assert_int_equal(a.options.print.by_cum, 0);
	report_arguments_deinit(&a);
	assert_int_equal(parse("-files=f -cum=0 p", &a, &message), REPORT_E_OK);
	assert_int_equal(a.options.shape.granularity, SHAPE_FUNCTIONS);
	assert_int_equal(a.options.print.by_cum, 0);
	report_arguments_deinit(&a);
	assert_int_equal(parse("-lines=t -files p", &a, &message), REPORT_E_BAD_OPTION);
	report_arguments_deinit(&a);
}

static void test_lists(void **state)
{
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	assert_int_equal(parse("--base=a -base b p q -", &a, &message), REPORT_E_OK);
	assert_int_equal(a.inputs.n_bases, 2);
	assert_string_equal(a.inputs.bases[1], "b");
	assert_false(a.inputs.is_diff);
	assert_int_equal(a.inputs.n_profiles, 3);
	report_arguments_deinit(&a);
}

/* Their time of day may be a word of its own, and is no profile. */
static void test_moments(void **state)
{
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	assert_int_equal(parse("-s a --since 2026-11-23 14:00 --until=today 15:00", &a, &message),
			 REPORT_E_OK);
	assert_string_equal(a.inputs.since[0], "2026-11-23");
	assert_string_equal(a.inputs.since[1], "14:00");
	assert_string_equal(a.inputs.until[0], "today");
	assert_string_equal(a.inputs.until[1], "15:00");
	assert_int_equal(a.inputs.n_profiles, 0);
	report_arguments_deinit(&a);
	assert_int_equal(parse("-s a --since -1h", &a, &message), REPORT_E_OK);
	assert_string_equal(a.inputs.since[0], "-1h");
	assert_string_equal(a.inputs.since[1], "");
	assert_string_equal(a.inputs.until[0], "");
	assert_true(a.inputs.is_store);
	report_arguments_deinit(&a);
	/* Without a service they are of the whole machine. */
	assert_int_equal(parse("--since -1h", &a, &message), REPORT_E_OK);
	assert_true(a.inputs.is_store && !*a.inputs.service);
	report_arguments_deinit(&a);
}

static void test_types(void **state)
{
	static const struct {
		const char *line, *type;
		bool mean;
	} cases[] = {
		{"p", "", false},
		{"-inuse_space p", "inuse_space", false},
		{"--alloc_objects p", "alloc_objects", false},
		{"-total_delay p", "delay", false},
		{"-mean_delay p", "delay", true},
		{"-mean_delay=true -contentions p", "contentions", false},
		{"-alloc_space=false p", "", false},
	};
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(cases[i].line, &a, &message), REPORT_E_OK);
		assert_string_equal(a.options.sample_index, cases[i].type);
		assert_int_equal(a.options.mean, cases[i].mean);
		report_arguments_deinit(&a);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{"", "PROFILE"},
		{"-http=:8080 p", "there is no web server"},
		{"-focus", "needs an argument"},
		{"-text=maybe p", "takes no argument"},
		{"-text -tree p", "either --text or --tree"},
		{"-lines -files p", "either --lines or --files"},
		{"-cum -flat p", "either --cum or --flat"},
		{"-base=a -diff_base=b p", "either --base or --diff_base"},
		{"-nodecount=many p", "whole number"},
		{"-nodecount=99999999999 p", "whole number"},
		{"-nodefraction=-1 p", "0 or more"},
		{"-nodefraction=nan p", "0 or more"},
		{"-divide_by=0 p", "divide_by"},
		{"-cum=perhaps p", "true or false"},
		{"-normalize p", "--normalize needs"},
		{"-symbolize=nonsense p", "--symbolize takes none"},
		{"-symbolize=local:far p", "not 'local:far'"},
		{"-symbolize=demangle=all p", "not 'demangle=all'"},
		{"-seconds=-1 p", "--seconds takes 0 to"},
		{"-timeout=604801 p", "--timeout takes 0 to"},
		{"-tls_cert=c p", "need each other"},
		{"--since=-1h p", "cannot be combined with files"},
		{"-s nginx.service p", "cannot be combined with files"},
		{"-peek= p", "needs a regular expression"},
		{"-interactive -text p", "--interactive cannot be combined with --text"},
	};
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (parse(cases[i].line, &a, &message) != REPORT_E_BAD_OPTION)
			fail_msg("'%s' is not refused", cases[i].line);
		if (!strstr(message.text, cases[i].why))
			fail_msg("'%s': '%s'", cases[i].line, message.text);
		report_arguments_deinit(&a);
	}
	assert_int_equal(parse("-h", &a, &message), REPORT_E_HELP);
	report_arguments_deinit(&a);
}

/* What is unknown is told as it was typed, without its value; one that begins alike, too. */
static void test_unknown(void **state)
{
	static const struct {
		const char *line, *text;
	} cases[] = {
		{"--nothing p", "unknown option --nothing"},
		{"-nothing=x p", "unknown option -nothing"},
		{"-httpd p", "unknown option -httpd"},
		{"--flamegraph p", "unknown option --flamegraph (--flame?)"},
		{"-collapse=x p", "unknown option -collapse (--collapsed?)"},
		{"--focu p", "unknown option --focu (--focus?)"},
		{"--trees p", "unknown option --trees (--tree?)"},
		{"--foc p", "unknown option --foc"},
		{"--fock p", "unknown option --fock"},
		{"--fo p", "unknown option --fo"},
		{"--svgz p", "unknown option --svgz (--svg?)"},
		{"--focs=x p", "unknown option --focs (--focus?)"},
		{"--foccus=x p", "unknown option --foccus (--focus?)"},
		{"--fokus=x p", "unknown option --fokus (--focus?)"},
		{"--lsit=x p", "unknown option --lsit (--list?)"},
		{"--fcous=x p", "unknown option --fcous (--focus?)"},
		{"--fucos=x p", "unknown option --fucos"},
		{"--tap p", "unknown option --tap"},
		{"-inuse_space=maybe p", "unknown option -inuse_space"},
		{"", "no PROFILE given; - is standard input"},
	};
	struct profile_message message;
	struct report_arguments a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(cases[i].line, &a, &message), REPORT_E_BAD_OPTION);
		assert_string_equal(message.text, cases[i].text);
		report_arguments_deinit(&a);
	}
}

/* Names are unique, settings keep what they print, and every line of help has its summary. */
static void test_table(void **state)
{
	struct report_options o, back;
	struct profile_message message;

	(void)state;
	report_options_init(&o);
	for (const struct report_option *option = report_options_all; option->name; option++) {
		char text[128] = "";
		FILE *out;

		assert_ptr_equal(report_option_find(option->name, strlen(option->name)), option);
		if (option->alias)
			assert_ptr_equal(report_option_find(option->alias, strlen(option->alias)),
					 option);
		assert_true(option->summary && *option->summary);
		if (!report_option_is_setting(option) || option->kind == REPORT_OPTION_CHOICE)
			continue;
		out = fmemopen(text, sizeof(text), "w");
		assert_non_null(out);
		report_option_print(&o, option, out);
		fclose(out);
		back = o;
		memset((char *)&back + option->offset, 0,
		       option->kind == REPORT_OPTION_FLAG      ? sizeof(bool)
		       : option->kind == REPORT_OPTION_INTEGER ? sizeof(int)
							       : 8);
		assert_int_equal(report_option_set(&back, option, text, &message), REPORT_E_OK);
		if (option->kind != REPORT_OPTION_TEXT)
			assert_memory_equal(&back, &o, sizeof(o));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dashes_and_arguments),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
