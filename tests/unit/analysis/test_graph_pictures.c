/* SPDX-License-Identifier: MIT */
/* The call graph of a picture: which arrows are redundant, and what counts as a box. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/analysis/graph_fixture.h"

/* Without what weighs less than a tenth. */
static const struct graph_options picture = {.wants_calls = true,
					     .is_picture = true,
					     .nodefraction = .1};

/* A picture has no arrow over boxes that are left out if there is another way. */
static void test_redundant(void **state)
{
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a;b", 60);
	fixture_stack(f, "main;tiny;b", 3);
	fixture_stack(f, "main;tiny;c", 3);
	fixture_stack(f, "c", 40);
	g = fold(f, &picture);
	assert_int_equal(f->n_passes, 2);
	assert_null(find_call(g, "main", "b"));
	assert_call(g, "a", "b", 60, false);
	assert_call(g, "main", "c", 3, true);
	graph_free(g);
	/* What some stack has as a call stays, though others come over the box that is gone. */
	fixture_stack(f, "main;b", 1);
	g = fold(f, &picture);
	assert_call(g, "main", "b", 4, true);
	graph_free(g);
}

/* None goes that is heavier than a call that stays. */
static void test_heavy_residual(void **state)
{
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;tiny1;b", 5);
	fixture_stack(f, "main;tiny2;b", 5);
	fixture_stack(f, "main;tiny3;b", 5);
	fixture_stack(f, "main;a;b", 12);
	fixture_stack(f, "main", 73);
	g = fold(f, &picture);
	assert_call(g, "main", "b", 15, true);
	assert_call(g, "a", "b", 12, false);
	graph_free(g);
}

/* Of two ways that each make the other one redundant, one stays. */
static void test_redundant_by_each_other(void **state)
{
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;x;main;tiny1;c", 6);
	fixture_stack(f, "main;x;tiny2;c", 5);
	fixture_stack(f, "main;x", 69);
	fixture_stack(f, "c", 20);
	g = fold(f, &picture);
	assert_null(find_call(g, "x", "c"));
	assert_call(g, "main", "c", 6, true);
	graph_free(g);
}

/* Nor is there a loop over what is gone. */
static void test_no_residual_loop(void **state)
{
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "a;tiny;a", 5);
	fixture_stack(f, "a", 95);
	g = fold(f, &picture);
	assert_null(find_call(g, "a", "a"));
	graph_free(g);
}

static size_t count_boxes(struct fixture *f, size_t nodecount)
{
	struct graph_options options = {.wants_calls = true,
					.is_picture = true,
					.nodefraction = .1,
					.nodecount = nodecount};
	struct graph *g = fold(f, &options);
	size_t n = g->n_order;

	graph_free(g);
	return n;
}

/* A picture's labels are boxes, too: up to four of a function, which weigh something there. */
static void test_count_of_labels(void **state)
{
	static const char *const texts[] = {"1", "2", "3", "4", "5", "6"};
	struct fixture *f = *state;

	fixture_stack(f, "a", 80);
	fixture_label(f, fixture_stack(f, "a", 1), "thin", "1", 0, NULL);
	fixture_stack(f, "b", 60);
	fixture_stack(f, "c", 40);
	fixture_stack(f, "d", 30);
	assert_int_equal(count_boxes(f, 3), 3);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		fixture_label(f, fixture_stack(f, "a", 400), "many", texts[i], 0, NULL);
	fixture_stack(f, "b", 500);
	fixture_stack(f, "c", 400);
	assert_int_equal(count_boxes(f, 6), 2);
}

static void test_count_of_callers_labels(void **state)
{
	struct fixture *f = *state;

	/* In this order: a and its label, c, m, b. */
	fixture_label(f, fixture_stack(f, "m;a", 40), "key", "value", 0, NULL);
	fixture_stack(f, "c", 20);
	fixture_stack(f, "b", 8);
	assert_int_equal(count_boxes(f, 5), 4);
}

/* Of what is in the picture: calls that were left out before some nodes went are none of those. */
static void test_dropped_calls_of_tree(void **state)
{
	const struct graph_options options = {.wants_calls = true,
					      .is_picture = true,
					      .is_tree = true,
					      .unit = "minimum",
					      .nodecount = 2,
					      .edgefraction = .1};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a", 100);
	fixture_stack(f, "main;b", 5);
	g = fold(f, &options);
	assert_int_equal(g->n_order, 2);
	assert_call(g, "main", "a", 100, false);
	assert_int_equal(g->n_dropped_calls, 0);
	graph_free(g);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_redundant),
		TEST(test_heavy_residual),
		TEST(test_redundant_by_each_other),
		TEST(test_no_residual_loop),
		TEST(test_count_of_labels),
		TEST(test_count_of_callers_labels),
		TEST(test_dropped_calls_of_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
