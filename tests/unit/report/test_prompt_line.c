/* SPDX-License-Identifier: MIT */
/* Lines at the prompt, and how they are completed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/shape.h"
#include "client/report/prompt_line.h"

static const char *const types[] = {"samples", "cpu"};

struct fixture {
	struct prompt_settings settings;
	struct prompt_command command;
	struct profile_message message;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){.settings = {.types = types, .n_types = 2}};
	report_options_init(&f.settings.options);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	prompt_settings_deinit(&((struct fixture *)*state)->settings);
	return 0;
}

static enum prompt_kind read_line(struct fixture *f, const char *line)
{
	if (prompt_parse_line(&f->settings, line, &f->command, &f->message))
		fail_msg("'%s': %s", line, f->message.text);
	return f->command.kind;
}

static void refuse(struct fixture *f, const char *line, const char *why)
{
	assert_int_equal(prompt_parse_line(&f->settings, line, &f->command, &f->message),
			 REPORT_E_BAD_OPTION);
	if (!strstr(f->message.text, why))
		fail_msg("'%s': %s", line, f->message.text);
}

static void test_views(void **state)
{
	struct fixture *f = *state;
	const struct report_options *o = &f->command.options;

	assert_int_equal(read_line(f, "  top10 -cum foo bar -baz >out.txt \n"), PROMPT_REPORT);
	assert_int_equal(o->view, REPORT_TEXT);
	assert_int_equal(o->print.nodecount, 10);
	assert_int_equal(o->print.by_cum, 1);
	assert_string_equal(o->shape.focus, "foo|bar");
	assert_string_equal(o->shape.ignore, "baz");
	assert_string_equal(o->output, "out.txt");
	/* For that time alone. */
	assert_string_equal(f->command.pipe, "");
	assert_int_equal(read_line(f, "top3 foo |  less -S 'a  b' | x "), PROMPT_REPORT);
	assert_string_equal(f->command.pipe, "less -S 'a  b' | x");
	assert_string_equal(o->shape.focus, "foo");
	assert_int_equal(read_line(f, "list a|b |head"), PROMPT_REPORT);
	assert_string_equal(f->command.pipe, "head");
	assert_string_equal(o->print.pattern, "a|b");
	assert_int_equal(read_line(f, "tree > out"), PROMPT_REPORT);
	assert_int_equal(o->view, REPORT_TREE);
	assert_int_equal(o->print.nodecount, VIEW_NODECOUNT_DEFAULT);
	assert_int_equal(o->print.by_cum, 0);
	assert_string_equal(o->shape.focus, "");
	assert_string_equal(o->output, "out");
	assert_int_equal(read_line(f, "top"), PROMPT_REPORT);
	assert_int_equal(o->print.nodecount, 10);
	assert_int_equal(read_line(f, "text 3"), PROMPT_REPORT);
	assert_int_equal(o->print.nodecount, 3);
	assert_int_equal(read_line(f, "peek a.*b c"), PROMPT_REPORT);
	assert_string_equal(o->print.pattern, "a.*b");
	assert_string_equal(o->shape.focus, "c");
	assert_int_equal(read_line(f, "tags x -y"), PROMPT_REPORT);
	assert_string_equal(o->shape.tagfocus, "x");
	assert_string_equal(o->shape.tagignore, "y");
	assert_string_equal(o->shape.focus, "");
}

static void test_settings(void **state)
{
	struct fixture *f = *state;
	const struct report_options *o = &f->settings.options;

	assert_int_equal(read_line(f, "focus = a b //: [comment]"), PROMPT_NOTHING);
	assert_string_equal(o->shape.focus, "a b");
	assert_int_equal(read_line(f, "lines"), PROMPT_NOTHING);
	assert_int_equal(o->shape.granularity, SHAPE_LINES);
	assert_int_equal(read_line(f, "granularity=files"), PROMPT_NOTHING);
	assert_int_equal(o->shape.granularity, SHAPE_FILES);
	assert_int_equal(read_line(f, "sort=cum"), PROMPT_NOTHING);
	assert_int_equal(o->print.by_cum, 1);
	assert_int_equal(read_line(f, "trim=f"), PROMPT_NOTHING);
	assert_false(o->print.trim);
	assert_int_equal(read_line(f, "call_tree"), PROMPT_NOTHING);
	assert_true(o->print.call_tree);
	assert_int_equal(read_line(f, "mean_cpu"), PROMPT_NOTHING);
	assert_string_equal(o->sample_index, "cpu");
	assert_true(o->mean);
	assert_int_equal(read_line(f, "total_samples"), PROMPT_NOTHING);
	assert_string_equal(o->sample_index, "samples");
	assert_false(o->mean);
	assert_int_equal(read_line(f, ":"), PROMPT_NOTHING);
	assert_string_equal(o->shape.focus, "");
	assert_int_equal(read_line(f, "hide=x"), PROMPT_NOTHING);
	assert_int_equal(read_line(f, "hide=\"\""), PROMPT_NOTHING);
	assert_string_equal(o->shape.hide, "");
	assert_int_equal(read_line(f, "top"), PROMPT_REPORT);
	assert_int_equal(f->command.options.shape.granularity, SHAPE_FILES);
}

static void test_rest(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(read_line(f, ""), PROMPT_NOTHING);
	assert_int_equal(read_line(f, " \t\n"), PROMPT_NOTHING);
	assert_int_equal(read_line(f, "o"), PROMPT_OPTIONS);
	assert_int_equal(read_line(f, "quit"), PROMPT_QUIT);
	assert_int_equal(read_line(f, "help"), PROMPT_HELP);
	assert_string_equal(f->command.topic, "");
	assert_int_equal(read_line(f, "help peek"), PROMPT_HELP);
	assert_string_equal(f->command.topic, "peek");
	refuse(f, "dance", "no command 'dance'");
	refuse(f, "10", "no command");
	refuse(f, "focus", "focus=VALUE");
	refuse(f, "nodecount=x", "whole number");
	refuse(f, "granularity=cum", "granularity cannot be 'cum'; help granularity");
	refuse(f, "granularity", "granularity=NAME sets it");
	refuse(f, "sort=lines", "sort cannot be 'lines'; help sort");
	refuse(f, "peek", "regular expression");
	refuse(f, "top >", "which file");
	refuse(f, "service=x", "no setting 'service'");
}

static struct profile *functions(const char *const *names, size_t n)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	for (size_t i = 0; i < n; i++) {
		struct profile_function function = {0};
		uint32_t index;

		assert_int_equal(profile_add_text(p, names[i], &function.name), 0);
		assert_int_equal(profile_add_function(p, &function, &index), 0);
	}
	return p;
}

static void test_completion(void **state)
{
	static const char *const names[] = {"parse_line", "parse_file", "main", "tree_insert"};
	static const struct {
		const char *line, *expected; /* NULL: none */
	} cases[] = {
		{"pee", "k "},
		{"foc", "us="},
		{"peek par", "se_"},
		{"peek parse_l", "ine "},
		{"top -mai", "n "},
		{"peek parse_", NULL},
		{"peek ", NULL},
		{"zzz", NULL},
		{"help tagf", "ocus="},
		{"peek tree", "_insert "},
		{"sam", "ple"},
		{"focus=par", "se_"},
		{"focus=", NULL},
		{" hide=mai", "n "},
		{"granu", "larity="},
		{"granularity=li", "nes "},
		{"sort=c", "um "},
		{"sort=li", NULL},
		{"sample_index=samples", " "},
		{"tagfocus=mai", NULL},
		{"output=mai", NULL},
		{"zzz=mai", NULL},
		{"peek a=mai", NULL},
	};
	struct profile *p = functions(names, 4);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct prompt_completion c;

		assert_int_equal(prompt_complete(&c, p, cases[i].line, strlen(cases[i].line)), 0);
		if (strcmp(c.text, cases[i].expected ? cases[i].expected : "") != 0)
			fail_msg("'%s' goes on with '%s'", cases[i].line, c.text);
		prompt_completion_deinit(&c);
	}
	profile_free(p);
}

static void test_candidates(void **state)
{
	static const char *const names[] = {"parse_line", "main", "parse_file", "parse_line"};
	struct profile *p = functions(names, 4);
	struct prompt_completion c;

	(void)state;
	assert_int_equal(prompt_complete(&c, p, "peek par", 8), 0);
	assert_int_equal(c.n, 2);
	assert_string_equal(c.all[0].name, "parse_file");
	assert_string_equal(c.all[1].name, "parse_line");
	prompt_completion_deinit(&c);
	assert_int_equal(prompt_complete(&c, p, "sort=", 5), 0);
	assert_int_equal(c.n, 2);
	assert_string_equal(c.all[0].name, "cum");
	prompt_completion_deinit(&c);
	assert_int_equal(prompt_complete(&c, p, "peek ", 5), 0);
	assert_int_equal(c.n, 0);
	prompt_completion_deinit(&c);
	/* Wall-clock time, where there are both of its parts. */
	assert_int_equal(profile_add_sample_type(p, "off_cpu", "nanoseconds"), 0);
	assert_int_equal(prompt_complete(&c, p, "sample_index=wa", 15), 0);
	assert_int_equal(c.n, 0);
	prompt_completion_deinit(&c);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(prompt_complete(&c, p, "sample_index=wa", 15), 0);
	assert_string_equal(c.text, "ll ");
	prompt_completion_deinit(&c);
	assert_int_equal(prompt_complete(&c, p, "wal", 3), 0);
	assert_string_equal(c.text, "l ");
	prompt_completion_deinit(&c);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_views, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
		cmocka_unit_test(test_completion),
		cmocka_unit_test(test_candidates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
