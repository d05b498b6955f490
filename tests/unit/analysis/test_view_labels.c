/* SPDX-License-Identifier: MIT */
/* Views of labels: of each stack, and of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/fixture.h"

#define MS INT64_C(1000000)

static void test_traces(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	struct fixture_stack *s;

	s = fixture_stack(f, "main;+work", 3);
	fixture_label(f, s, "thread", "b", 0, NULL);
	fixture_label(f, s, "bytes", NULL, 2048, NULL);
	fixture_label(f, s, "thread", "c", 0, NULL);
	fixture_label(f, s, "cpu", NULL, 7, NULL);
	fixture_label(f, fixture_stack(f, "main", -2), "cpu", NULL, 9, "things");
	/* A key's unit is the first one that is named. */
	fixture_label(f, fixture_stack(f, "main", 1), "cpu", NULL, 1, "ms");
	text = fixture_view(f, &view_traces, &options);
	assert_int_equal(f->n_passes, 2);
	assert_contains(text,
			"-----------+-------------------------------------------------------\n"
			"    thread:  b c\n"
			"       cpu:  7\n"
			"     bytes:  2kB\n"
			"         3   work (inline)\n"
			"             main\n"
			"-----------+-------------------------------------------------------\n"
			"       cpu:  9\n"
			"        -2   main\n"
			"-----------+-------------------------------------------------------\n");
}

/* One key with texts and numbers has a line of each; means are divided by their sample's count. */
static void test_traces_mean(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	struct view_input input;
	struct fixture_stack *s = fixture_stack(f, "main", 4);

	s->values[1] = 20 * MS;
	fixture_label(f, s, "both", "x", 0, NULL);
	fixture_label(f, s, "both", NULL, 5, NULL);
	input = fixture_input(f);
	input.type = 1;
	input.mean = true;
	text = fixture_show(f, &view_traces, &options, &input);
	assert_contains(text, "      both:  x\n      both:  5\n       5ms   main\n");
}

static void test_tags(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	struct fixture_stack *s;

	for (unsigned i = 0; i < 4; i++) {
		s = fixture_stack(f, "main", 10 + i);
		fixture_label(f, s, "comm", i % 2 ? "nginx" : "sh", 0, NULL);
		fixture_label(f, s, "size", NULL, i < 2 ? 1000000 : 1000001, "bytes");
	}
	text = fixture_view(f, &view_tags, &options);
	/* Sizes that are printed alike are one. */
	assert_string_equal(text, " comm: Total 46 of 46 (  100%)\n"
				  "       24 (52.17%): nginx\n"
				  "       22 (47.83%): sh\n"
				  "\n"
				  " size: Total 46 of 46 (  100%)\n"
				  "       46 (  100%): 976.56kB\n"
				  "\n");
}

/* The heaviest first, whatever its sign; equal ones by what they say. */
static void test_tags_in_order(void **state)
{
	static const struct {
		const char *key, *value;
		int64_t weight;
	} labels[] = {{"order", "b", 5},
		      {"order", "a", 5},
		      {"order", "c", -9},
		      {"sign", "x", -3},
		      {"sign", "y", -4}};
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		fixture_label(f, fixture_stack(f, "main", labels[i].weight), labels[i].key,
			      labels[i].value, 0, NULL);
	text = fixture_view(f, &view_tags, &options);
	assert_string_equal(text, " order: Total 1 of 26 ( 3.85%)\n"
				  "        -9 (34.62%): c\n"
				  "         5 (19.23%): a\n"
				  "         5 (19.23%): b\n"
				  "\n"
				  " sign: Total -7 of 26 (26.92%)\n"
				  "       -4 (15.38%): y\n"
				  "       -3 (11.54%): x\n"
				  "\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_traces),
		TEST(test_traces_mean),
		TEST(test_tags),
		TEST(test_tags_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
