/* SPDX-License-Identifier: MIT */
/* Labels in pictures: which ones hang below a box, in which order, and their numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/fixture.h"

static void test_labels(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	for (unsigned i = 0; i < 6; i++) {
		struct fixture_stack *s = fixture_stack(f, "main;work", 10 * (6 - i));
		const char *names[] = {"a", "b", "c", "d", "e", "f"};

		fixture_label(f, s, "thread", names[i], 0, NULL);
		fixture_label(f, s, "comm", "server", 0, NULL);
	}
	text = fixture_view(f, &view_dot, NULL);
	/* The four heaviest of a box. */
	assert_contains(text, "_t0 [label=\"comm:server\\nthread:a\" fontsize=8");
	assert_contains(text, "thread:d");
	assert_lacks(text, "thread:e");
	assert_int_equal(count_parts(text, "shape=box3d"), 4);
}

/* What is left out below a box is told by the box's labels, if it calls nothing else. */
static void test_labels_of_what_is_left_out(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	char *text;

	options.nodefraction = .1;
	fixture_stack(f, "main", 80);
	fixture_label(f, fixture_stack(f, "main;work;thin1", 8), "thread", "a", 0, NULL);
	fixture_label(f, fixture_stack(f, "main;work;thin2", 7), "thread", "a", 0, NULL);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "[label=\"thread:a\" fontsize=8 shape=box3d tooltip=\"15\"]");
	/* main has callees, and of its own nothing with labels. */
	assert_int_equal(count_parts(text, "shape=box3d"), 1);
	free(text);
	fixture_stack(f, "main;work;other", 50);
	text = fixture_view(f, &view_dot, &options);
	/* Now work has a callee, too: its labels tell what is its own, and that is nothing. */
	assert_int_equal(count_parts(text, "shape=box3d"), 0);
	free(text);
}

/* A function that calls itself alone calls nothing else. */
static void test_labels_of_recursion(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	options.nodefraction = .1;
	fixture_stack(f, "main;work;work", 100);
	fixture_label(f, fixture_stack(f, "main;work;thin1", 8), "thread", "a", 0, NULL);
	fixture_label(f, fixture_stack(f, "main;work;thin2", 7), "thread", "a", 0, NULL);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "[label=\"thread:a\" fontsize=8 shape=box3d tooltip=\"15\"]");
}

/* A label that weighs as much as may be left out stays; so does one that weighs so much by itself
 * or with what was left out below it. Arrows from where labels hang are longer. */
static void test_light_labels(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	char *text;

	options.nodefraction = .1;
	fixture_stack(f, "main", 90);
	fixture_label(f, fixture_stack(f, "main;work", 10), "thread", "a", 0, NULL);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "[label=\"thread:a\"");
	assert_lacks(text, "minlen");
	free(text);
	fixture_label(f, fixture_stack(f, "main", 15), "thread", "b", 0, NULL);
	fixture_label(f, fixture_stack(f, "main;thin", -9), "thread", "b", 0, NULL);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "[label=\"thread:b\"");
	assert_contains(text, "main -> work (10)\" minlen=2]");
	free(text);
}

/* The heaviest one first: by what they weigh with what was left out, but in a box that calls others
 * by themselves. */
static void test_labels_in_order(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	char *text;

	options.nodefraction = .08;
	fixture_stack(f, "main", 155);
	fixture_label(f, fixture_stack(f, "main;work", 20), "thread", "a", 0, NULL);
	fixture_label(f, fixture_stack(f, "main;work", 10), "thread", "b", 0, NULL);
	fixture_label(f, fixture_stack(f, "main;work;thin", 15), "thread", "b", 0, NULL);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "_t0 [label=\"thread:b\"");
	assert_contains(text, "_t1 [label=\"thread:a\"");
	free(text);
	fixture_label(f, fixture_stack(f, "main;work;other", 30), "thread", "b", 0, NULL);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "_t0 [label=\"thread:a\"");
	free(text);
}

/* The label of a comparison says nothing of a box. */
static void test_base_label(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	fixture_label(f, fixture_stack(f, "main", 10), "pprof::base", "true", 0, NULL);
	text = fixture_view(f, &view_dot, NULL);
	assert_lacks(text, "box3d");
}

/* Up to four come in the unit that was asked for. */
static void test_few_numbers(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	options.unit = "kb";
	fixture_label(f, fixture_stack(f, "work", 10), "bytes", NULL, 3 << 20, "bytes");
	fixture_label(f, fixture_stack(f, "work", 9), "bytes", NULL, 512, "bytes");
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "[label=\"3072kB\"");
	assert_contains(text, "[label=\"0.50kB\"");
}

static void test_numbers(void **state)
{
	static const int64_t bytes[] = {16, 24, 32, 4096, 4100, 1 << 20};
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		struct fixture_stack *s = fixture_stack(f, "work", 10 * (int64_t)(6 - i));

		fixture_label(f, s, "bytes", NULL, bytes[i], "bytes");
		fixture_label(f, s, "other", NULL, 99, "bytes");
	}
	text = fixture_view(f, &view_dot, NULL);
	assert_int_equal(count_parts(text, "shape=box3d"), 4);
	assert_contains(text, "_n0 [label=\"16B\"");
	/* The lighter ones join what they are nearest to: 30, 20 and 10. */
	assert_contains(text, "[label=\"4kB..1MB\" fontsize=8 shape=box3d tooltip=\"60\"]");
	/* Nothing of it is of what work calls. */
	assert_lacks(text, "dotted");
	assert_lacks(text, "99");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_labels),
		TEST(test_labels_of_what_is_left_out),
		TEST(test_labels_of_recursion),
		TEST(test_light_labels),
		TEST(test_labels_in_order),
		TEST(test_base_label),
		TEST(test_few_numbers),
		TEST(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
