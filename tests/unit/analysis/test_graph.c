/* SPDX-License-Identifier: MIT */
/* The call graph of hand-made stacks: what is counted, and what is trimmed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/analysis/graph_fixture.h"

#define DEEP 10000u

static void test_sums(void **state)
{
	struct graph_options options = {.wants_calls = true};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a;b", 3);
	fixture_stack(f, "main;a", 4);
	fixture_stack(f, "main;b", 5);
	g = fold(f, &options);
	assert_int_equal(f->n_passes, 1);
	assert_order(g, "b a main");
	assert_node(g, "main", 0, 12);
	assert_node(g, "a", 4, 7);
	assert_node(g, "b", 8, 8);
	assert_call(g, "main", "a", 7, false);
	assert_call(g, "main", "b", 5, false);
	assert_call(g, "a", "b", 3, false);
	assert_null(find_call(g, "b", "a"));
	graph_free(g);
}

/* However often a function or a call is in a stack, it counts once. */
static void test_recursion(void **state)
{
	struct graph_options options = {.wants_calls = true};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a;a;b;a;b;a", 10);
	g = fold(f, &options);
	assert_node(g, "main", 0, 10);
	assert_node(g, "a", 10, 10);
	assert_node(g, "b", 0, 10);
	assert_call(g, "a", "b", 10, false);
	assert_call(g, "b", "a", 10, false);
	assert_null(find_call(g, "a", "a"));
	graph_free(g);
	/* Pictures show what calls itself. */
	options.is_picture = true;
	g = fold(f, &options);
	assert_call(g, "a", "a", 10, false);
	graph_free(g);
	/* What is inlined into itself does not. */
	fixture_stack(f, "main;c;+c", 5);
	g = fold(f, &options);
	assert_call(g, "main", "c", 5, false);
	assert_null(find_call(g, "c", "c"));
	graph_free(g);
}

static void test_deep_recursion(void **state)
{
	struct graph_options options = {.wants_calls = true};
	struct fixture *f = *state;
	struct fixture_stack *s = fixture_push(f, DEEP, 7);
	struct graph *g;

	for (uint32_t i = 0; i < DEEP; i++)
		s->frames[i] = fixture_frame(f, i % 3 ? "down" : "up");
	g = fold(f, &options);
	assert_int_equal(g->n_order, 2);
	assert_node(g, "up", 7, 7);
	assert_node(g, "down", 0, 7);
	graph_free(g);
	options.is_tree = true;
	g = fold(f, &options);
	assert_int_equal(g->n_order, DEEP);
	assert_int_equal(g->calls_in.n, DEEP - 1);
	graph_free(g);
}

static void test_overflow(void **state)
{
	struct graph_options options = {.wants_calls = true};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a", INT64_MAX - 1);
	fixture_stack(f, "main;a", 0)->values[0] = 100;
	fixture_stack(f, "other;b", 1);
	fixture_stack(f, "other;b", 0)->values[0] = INT64_MIN;
	fixture_stack(f, "other;b", 0)->values[0] = INT64_MIN;
	g = fold(f, &options);
	assert_node(g, "a", INT64_MAX, INT64_MAX);
	assert_node(g, "main", 0, INT64_MAX);
	assert_node(g, "b", -INT64_MAX, -INT64_MAX);
	assert_call(g, "main", "a", INT64_MAX, false);
	graph_free(g);
}

static void test_nothing_is_left(void **state)
{
	struct graph_options options = {.wants_calls = true};
	struct fixture *f = *state;
	struct graph *g = fold(f, &options);

	assert_int_equal(g->n_order, 0);
	graph_free(g);
	fixture_stack(f, "a;b", 5);
	fixture_stack(f, "a;b", -5);
	fixture_stack(f, "a;c", 0);
	g = fold(f, &options);
	assert_int_equal(g->n_order, 0);
	graph_free(g);
}

static void test_mean(void **state)
{
	struct graph_options options = {.wants_calls = true};
	struct fixture *f = *state;
	const struct graph_node *node;
	struct view_input input;
	struct graph *g;

	fixture_stack(f, "main;a", 1)->values[1] = 100;
	fixture_stack(f, "main;a", 3)->values[1] = 500;
	fixture_stack(f, "main", 4)->values[1] = 40;
	/* Nothing, but it is one more that the sum is divided by. */
	fixture_stack(f, "main;b", 2)->values[1] = 0;
	input = fixture_input(f);
	input.type = 1;
	input.mean = true;
	g = fold_with(f, &options, &input);
	node = &g->nodes[find(g, "a")];
	assert_int_equal(graph_mean(node->cum), 150);
	node = &g->nodes[find(g, "main")];
	assert_int_equal(graph_mean(node->flat), 10);
	assert_int_equal(graph_mean(node->cum), 64);
	graph_free(g);
}

static void test_inlined(void **state)
{
	struct graph_options options = {0};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;+always;+sometimes", 1);
	fixture_stack(f, "main;+always;sometimes", 2);
	fixture_stack(f, "other;sometimes", 3);
	g = fold(f, &options);
	/* Nobody wants calls, but which functions are inlined only they can tell. */
	assert_int_equal(f->n_passes, 2);
	assert_true(find_call(g, "main", "always")->is_inlined);
	assert_false(find_call(g, "always", "sometimes")->is_inlined);
	assert_false(find_call(g, "other", "sometimes")->is_inlined);
	graph_free(g);
}

/* What is below the fraction goes, and calls over it are residual. */
static void test_fraction(void **state)
{
	struct graph_options options = {.wants_calls = true, .nodefraction = .1};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;thin1;leaf", 9);
	fixture_stack(f, "main;thin2;leaf", 9);
	fixture_stack(f, "main;thick;leaf", 11);
	fixture_stack(f, "main;thick", 70);
	fixture_stack(f, "main;tiny", 1);
	g = fold(f, &options);
	assert_int_equal(f->n_passes, 2);
	assert_order(g, "thick leaf main");
	assert_int_equal(g->n_dropped, 3);
	assert_int_equal(g->n_before, 3);
	assert_node(g, "leaf", 29, 29);
	assert_node(g, "main", 0, 100);
	assert_call(g, "main", "leaf", 18, true);
	assert_call(g, "main", "thick", 81, false);
	assert_call(g, "thick", "leaf", 11, false);
	graph_free(g);
	/* Exactly the fraction is not below it; then nothing goes. */
	options.nodefraction = .01;
	g = fold(f, &options);
	assert_int_equal(g->n_order, 6);
	assert_int_equal(g->n_dropped, 0);
	graph_free(g);
}

static void test_count(void **state)
{
	struct graph_options options = {.wants_calls = true, .nodecount = 2, .by_cum = true};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a;b;c", 10);
	fixture_stack(f, "main;d", 2);
	fixture_stack(f, "main;c", 3);
	g = fold(f, &options);
	assert_order(g, "main c");
	assert_int_equal(g->n_before, 5);
	/* Residual in one stack is enough. */
	assert_call(g, "main", "c", 13, true);
	graph_free(g);
	/* What leaves out weighs nothing for what is above it. */
	options.nodecount = 1;
	g = fold(f, &options);
	assert_node(g, "main", 0, 15);
	graph_free(g);
}

static void test_edge_fraction(void **state)
{
	struct graph_options options = {.wants_calls = true, .edgefraction = .1};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a;b", 5);
	fixture_stack(f, "main;a", 50);
	fixture_stack(f, "main;b", 35);
	fixture_stack(f, "main;c", 10);
	g = fold(f, &options);
	assert_int_equal(f->n_passes, 1);
	assert_int_equal(g->n_dropped_calls, 1);
	assert_null(find_call(g, "a", "b"));
	assert_call(g, "main", "b", 35, false);
	assert_call(g, "main", "c", 10, false);
	graph_free(g);
}

/* Only calls between what is listed are told to be dropped; what weighs nothing itself but for
 * what it calls is not negative. */
static void test_dropped_calls_of_negative(void **state)
{
	struct graph_options options = {.wants_calls = true,
					.edgefraction = .1,
					.drop_negative = true};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a", 100);
	fixture_stack(f, "main;b", -1);
	g = fold(f, &options);
	assert_order(g, "a main");
	assert_int_equal(g->n_dropped_calls, 0);
	graph_free(g);
}

static void test_tree(void **state)
{
	struct graph_options options = {.wants_calls = true, .is_tree = true, .by_cum = true};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a;x", 5);
	fixture_stack(f, "main;b;x", 7);
	fixture_stack(f, "main;b;+c;x", 1);
	g = fold(f, &options);
	assert_int_equal(f->n_passes, 1);
	assert_order(g, "main b x a x c x");
	assert_int_equal(g->calls_in.n, 6);
	assert_true(find_call(g, "b", "c")->is_inlined);
	graph_free(g);
	options.nodefraction = .2;
	g = fold(f, &options);
	assert_order(g, "main b x a x");
	assert_int_equal(g->n_dropped, 2);
	graph_free(g);
	/* What hung below a node that is gone hangs below the one above it. */
	options.nodefraction = 0;
	options.nodecount = 4;
	options.by_cum = false;
	fixture_stack(f, "main", 20);
	g = fold(f, &options);
	assert_order(g, "main x x x");
	for (size_t i = 0; i < g->calls_in.n; i++)
		assert_true(g->calls[i].is_residual);
	assert_int_equal(g->calls_in.n, 3);
	graph_free(g);
}

/* A call over what is gone is inlined if all that it goes over is. */
static void test_inlined_in_trees(void **state)
{
	struct graph_options options = {.wants_calls = true, .is_tree = true, .nodecount = 2};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;called;+inlined", 5);
	fixture_stack(f, "main", 6);
	g = fold(f, &options);
	assert_order(g, "main inlined");
	assert_call(g, "main", "inlined", 5, true);
	assert_false(find_call(g, "main", "inlined")->is_inlined);
	graph_free(g);
	f->stacks[0].is_inlined[1] = 1;
	g = fold(f, &options);
	assert_true(find_call(g, "main", "inlined")->is_inlined);
	graph_free(g);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_sums),
		TEST(test_recursion),
		TEST(test_deep_recursion),
		TEST(test_overflow),
		TEST(test_nothing_is_left),
		TEST(test_mean),
		TEST(test_inlined),
		TEST(test_fraction),
		TEST(test_count),
		TEST(test_edge_fraction),
		TEST(test_dropped_calls_of_negative),
		TEST(test_tree),
		TEST(test_inlined_in_trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
