/* SPDX-License-Identifier: MIT */
/* In which units views print values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/fixture.h"

#define MS INT64_C(1000000)

static void test_units(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	struct view_input input;
	char *text;

	fixture_stack(f, "main;a", 1)->values[1] = 3000 * MS;
	fixture_stack(f, "main;b", 1)->values[1] = 20 * MS;
	input = fixture_input(f);
	input.type = 1;
	input.total = 3020 * MS;
	text = fixture_show(f, &view_text, &options, &input);
	assert_contains(text, "        3s 99.34% 99.34%         3s 99.34%  a\n");
	assert_contains(text, "     0.02s  0.66%   100%      0.02s  0.66%  b\n");
	free(text);
	options.unit = "ms";
	options.divide_by = 2;
	text = fixture_show(f, &view_text, &options, &input);
	assert_contains(text, "    1500ms 99.34% 99.34%     1500ms 99.34%  a\n");
	free(text);
	options.unit = "auto";
	options.divide_by = 1;
	text = fixture_show(f, &view_text, &options, &input);
	assert_contains(text, "      20ms  0.66%   100%       20ms  0.66%  b\n");
	free(text);
}

/* What a function weighs with its callees counts for the unit, if it has nothing of its own. */
static void test_smallest(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	struct view_input input;

	options.nodefraction = 0;
	fixture_stack(f, "rare;work", 1)->values[1] = MS;
	fixture_stack(f, "main;work", 1)->values[1] = 5000 * MS;
	input = fixture_input(f);
	input.type = 1;
	input.total = 5001 * MS;
	text = fixture_show(f, &view_text, &options, &input);
	assert_contains(text, "    5001ms   100%   100%     5001ms   100%  work\n");
	assert_contains(text, "         0     0%   100%        1ms  0.02%  rare\n");
}

/* Where all means are less than one, the total tells the unit. */
static void test_small_means(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	struct view_input input;
	char *text;

	fixture_stack(f, "main", 3)->values[1] = 1;
	input = fixture_input(f);
	input.type = 1;
	input.mean = true;
	input.total = 5 * MS;
	assert_int_equal(fixture_try(f, &view_text, &options, &input, &text), 0);
	assert_contains(text, " of 5ms total\n");
	free(text);
	assert_int_equal(fixture_try(f, &view_callgrind, &options, &input, &text), 0);
	assert_contains(text, "\nevents: mean_cpu(ms)\n");
	free(text);
}

/* Nothing is divided by what is less than nothing. */
static void test_divide_by(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	fixture_three(f);
	options.divide_by = -2;
	text = fixture_view(f, &view_text, &options);
	assert_contains(text, "        50 50.00%");
}

/* Units are texts of strangers; columns are of characters. */
static void test_strange_units(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	char *text;

	fixture_three(f);
	f->p->sample_types[0].unit = fixture_text(f, "\xc3\xa9\x1b\n");
	text = fixture_view(f, &view_text, &options);
	assert_contains(text, "\n     50\xc3\xa9?? 50.00% 50.00%      80\xc3\xa9?? 80.00%  work\n");
	free(text);
	text = fixture_view(f, &view_tree, &options);
	assert_contains(text,
			"\n                                             "
			"80\xc3\xa9??   100% |   main\n"
			"     50\xc3\xa9?? 50.00% 50.00%      80\xc3\xa9?? 80.00%                "
			"| work\n");
	free(text);
	options.unit = "\xc3\xa9";
	text = fixture_view(f, &view_traces, &options);
	assert_contains(text, "\n       30\xc3\xa9   copy\n             work\n");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_units),     TEST(test_smallest),      TEST(test_small_means),
		TEST(test_divide_by), TEST(test_strange_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
