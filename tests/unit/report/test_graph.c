/* SPDX-License-Identifier: MIT */
/* The call graph of hand-made stacks: what is counted, what is trimmed, and in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/report/graph.h"
#include "tests/unit/report/fixture.h"

#define DEEP 10000u

static struct graph *fold_with(struct fixture *f, const struct graph_options *options,
			       const struct view_input *input)
{
	struct graph *g;
	bool again;

	assert_int_equal(graph_new(&g, options), 0);
	f->n_passes = 0;
	do {
		for (size_t i = 0; i < f->n_stacks; i++) {
			struct stack stack = fixture_get(f, i);

			assert_int_equal(graph_add(g, input, &stack), 0);
		}
		assert_int_equal(graph_end(g, input, &again), 0);
		f->n_passes++;
	} while (again);
	return g;
}

static struct graph *fold(struct fixture *f, const struct graph_options *options)
{
	struct view_input input = fixture_input(f);

	return fold_with(f, options, &input);
}

/* The names in order, "a b c". */
static void assert_order(const struct graph *g, const char *names)
{
	char text[1024] = "";
	int n = 0;

	for (size_t i = 0; i < g->n_order; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s", i ? " " : "",
			      graph_name(g, g->order[i]));
	assert_string_equal(text, names);
}

static uint32_t find(const struct graph *g, const char *name)
{
	for (size_t i = 0; i < g->n_order; i++)
		if (strcmp(graph_name(g, g->order[i]), name) == 0)
			return g->order[i];
	fail_msg("no %s", name);
	return 0;
}

static void assert_node(const struct graph *g, const char *name, int64_t flat, int64_t cum)
{
	const struct graph_node *node = &g->nodes[find(g, name)];

	assert_int_equal(node->flat, flat);
	assert_int_equal(node->cum, cum);
}

/* The call, or NULL; the same from both of its ends. */
static const struct graph_call *find_call(const struct graph *g, const char *caller,
					  const char *callee)
{
	uint32_t from = find(g, caller), to = find(g, callee);
	const struct graph_call *found = NULL, *other = NULL;
	size_t n;
	const uint32_t *calls = graph_callees(g, from, &n);

	for (size_t i = 0; i < n; i++)
		if (g->calls[calls[i]].callee == to)
			found = &g->calls[calls[i]];
	calls = graph_callers(g, to, &n);
	for (size_t i = 0; i < n; i++)
		if (g->calls[calls[i]].caller == from)
			other = &g->calls[calls[i]];
	assert_ptr_equal(found, other);
	return found;
}

static void assert_call(const struct graph *g, const char *caller, const char *callee,
			int64_t weight, bool is_residual)
{
	const struct graph_call *call = find_call(g, caller, callee);

	assert_non_null(call);
	assert_int_equal(call->weight, weight);
	assert_int_equal(call->is_residual, is_residual);
}

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
	assert_int_equal(g->n_calls, DEEP - 1);
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

/* By flat or cum, without signs; then by name. */
static void test_order(void **state)
{
	struct graph_options options = {0};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "m;z", 5);
	fixture_stack(f, "m;y", -7);
	fixture_stack(f, "m;x", 5);
	fixture_stack(f, "m", 1);
	g = fold(f, &options);
	assert_order(g, "y x z m");
	graph_free(g);
	fixture_stack(f, "m;w", 6);
	options.by_cum = true;
	g = fold(f, &options);
	assert_order(g, "m y w x z");
	graph_free(g);
	/* What has nothing of its own is as negative as what it calls. */
	fixture_stack(f, "n;y", -1);
	options.drop_negative = true;
	g = fold(f, &options);
	assert_order(g, "m w x z");
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

/* Frames may tell more than the report does. */
static void test_objects(void **state)
{
	struct graph_options options = {.wants_calls = true};
	struct fixture *f = *state;
	struct fixture_stack *s = fixture_push(f, 3, 1);
	struct graph *g;

	for (uint32_t i = 0; i < 3; i++) {
		f->frames[i] = (struct frame){.name = fixture_text(f, "same"),
					      .object = fixture_text(f, i ? "libx.so" : "liby.so"),
					      .start_line = i,
					      .build_id = i};
		s->frames[i] = i;
	}
	f->n_frames = 3;
	g = fold(f, &options);
	assert_int_equal(g->n_order, 1);
	assert_node(g, "same", 1, 1);
	graph_free(g);
	options.tells_objects = true;
	g = fold(f, &options);
	assert_int_equal(g->n_order, 3);
	graph_free(g);
}

/* Of one name and weight: by their objects, and those without come last, as pprof has them. */
static void test_namesakes_in_order(void **state)
{
	struct graph_options options = {.wants_calls = true, .tells_objects = true};
	static const char *const objects[] = {"", "libz.so", "liba.so"};
	struct fixture *f = *state;
	struct graph *g;

	for (uint32_t i = 0; i < 3; i++) {
		f->frames[i] = (struct frame){.name = fixture_text(f, "same"),
					      .object = fixture_text(f, objects[i])};
		fixture_push(f, 1, 1)->frames[0] = i;
	}
	f->n_frames = 3;
	g = fold(f, &options);
	assert_int_equal(g->n_order, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(profile_string(f->p,
						   g->infos[g->nodes[g->order[i]].info].object),
				    objects[2 - i]);
	graph_free(g);
}

/* Before that by what they weigh with their callees, then by their lines, as texts. */
static void test_namesakes_by_line(void **state)
{
	static const uint32_t lines[] = {9, 10, 7}, sorted[] = {7, 10, 9};
	struct graph_options options = {.wants_calls = true, .tells_objects = true};
	struct fixture *f = *state;
	uint32_t callee = fixture_frame(f, "callee");
	struct fixture_stack *s;
	struct graph *g;

	for (uint32_t i = 0; i < 3; i++) {
		f->frames[callee + 1 + i] = (struct frame){.name = fixture_text(f, "same"),
							   .start_line = lines[i]};
		fixture_push(f, 1, 1)->frames[0] = callee + 1 + i;
	}
	f->n_frames = callee + 4;
	s = fixture_push(f, 2, 1);
	s->frames[0] = callee;
	s->frames[1] = callee + 3;
	g = fold(f, &options);
	assert_int_equal(g->n_order, 4);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(g->infos[g->nodes[g->order[i + 1]].info].start_line, sorted[i]);
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
	assert_int_equal(g->n_calls, 6);
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
	for (size_t i = 0; i < g->n_calls; i++)
		assert_true(g->calls[i].is_residual);
	assert_int_equal(g->n_calls, 3);
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
	assert_int_equal(graph_mean(node->cum, node->cum_divisor), 150);
	node = &g->nodes[find(g, "main")];
	assert_int_equal(graph_mean(node->flat, node->flat_divisor), 10);
	assert_int_equal(graph_mean(node->cum, node->cum_divisor), 64);
	graph_free(g);
}

/* A picture has no arrow over boxes that are left out if there is another way. */
static void test_redundant(void **state)
{
	struct graph_options options = {.wants_calls = true,
					.is_picture = true,
					.nodefraction = .1};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;a;b", 60);
	fixture_stack(f, "main;tiny;b", 3);
	fixture_stack(f, "main;tiny;c", 3);
	fixture_stack(f, "c", 40);
	g = fold(f, &options);
	assert_int_equal(f->n_passes, 2);
	assert_null(find_call(g, "main", "b"));
	assert_call(g, "a", "b", 60, false);
	assert_call(g, "main", "c", 3, true);
	graph_free(g);
	/* What some stack has as a call stays, though others come over the box that is gone. */
	fixture_stack(f, "main;b", 1);
	g = fold(f, &options);
	assert_call(g, "main", "b", 4, true);
	graph_free(g);
}

/* None goes that is heavier than a call that stays. */
static void test_heavy_residual(void **state)
{
	struct graph_options options = {.wants_calls = true,
					.is_picture = true,
					.nodefraction = .1};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;tiny1;b", 5);
	fixture_stack(f, "main;tiny2;b", 5);
	fixture_stack(f, "main;tiny3;b", 5);
	fixture_stack(f, "main;a;b", 12);
	fixture_stack(f, "main", 73);
	g = fold(f, &options);
	assert_call(g, "main", "b", 15, true);
	assert_call(g, "a", "b", 12, false);
	graph_free(g);
}

/*
 * Boxes of a picture: by how much comes together and parts in them (entropy, in bits, of what comes
 * in and of what goes out or stays; 1 where nothing does) times cum, and flat. One without calls
 * has three times its weight: those are between the others to tell what these have.
 */
static void test_picture_order(void **state)
{
	static const struct {
		struct {
			const char *stack;
			int64_t value;
		} stacks[5];
		const char *order;
	} cases[] = {
		/* a 12, r 10, m 9, b 8 */
		{{{"r;m;a", 6}, {"r;m;b", 4}}, "a r m b"},
		/* Negative shares are of what is positive: m .53 times 600. */
		{{{"r;m;a", 1000}, {"r;m;b", -400}, {"x", 100}, {"y", 120}}, "a b r y m x"},
		/* What stays in m is a share, too: m 1500. */
		{{{"r;m", 500}, {"r;m;a", 500}, {"y", 400}}, "m y a r"},
		/* Two callers and one callee: m 1000. */
		{{{"r;m;a", 500}, {"s;m;a", 500}, {"x", 300}, {"y", 350}}, "a y m x r s"},
		/* Calls of itself part nothing: s 0. */
		{{{"r;s;s;t", 100}, {"y", 20}}, "t r y s"},
	};
	struct graph_options options = {.wants_calls = true, .is_picture = true};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct graph *g;

		for (size_t k = 0; k < f->n_stacks; k++)
			f->stacks[k].values[0] = 0;
		for (size_t k = 0; k < 5 && cases[i].stacks[k].stack; k++)
			fixture_stack(f, cases[i].stacks[k].stack, cases[i].stacks[k].value);
		g = fold(f, &options);
		assert_order(g, cases[i].order);
		graph_free(g);
	}
}

/* Of one name and cum: by flat, before all else. */
static void test_namesakes_by_flat(void **state)
{
	struct graph_options options = {.tells_objects = true, .by_cum = true};
	struct fixture *f = *state;
	uint32_t callee = fixture_frame(f, "callee");
	struct fixture_stack *s;
	struct graph *g;

	for (uint32_t i = 1; i < 3; i++)
		f->frames[callee + i] = (struct frame){.name = fixture_text(f, "same"),
						       .start_line = i};
	f->n_frames = callee + 3;
	s = fixture_push(f, 2, 10);
	s->frames[0] = callee;
	s->frames[1] = callee + 1;
	fixture_push(f, 1, 10)->frames[0] = callee + 2;
	g = fold(f, &options);
	assert_int_equal(g->n_order, 3);
	assert_int_equal(g->infos[g->nodes[g->order[1]].info].start_line, 2);
	assert_int_equal(g->infos[g->nodes[g->order[2]].info].start_line, 1);
	graph_free(g);
}

/* Of two ways that each make the other one redundant, one stays. */
static void test_redundant_by_each_other(void **state)
{
	struct graph_options options = {.wants_calls = true,
					.is_picture = true,
					.nodefraction = .1};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "main;x;main;tiny1;c", 6);
	fixture_stack(f, "main;x;tiny2;c", 5);
	fixture_stack(f, "main;x", 69);
	fixture_stack(f, "c", 20);
	g = fold(f, &options);
	assert_null(find_call(g, "x", "c"));
	assert_call(g, "main", "c", 6, true);
	graph_free(g);
}

/* Nor is there a loop over what is gone. */
static void test_no_residual_loop(void **state)
{
	struct graph_options options = {.wants_calls = true,
					.is_picture = true,
					.nodefraction = .1};
	struct fixture *f = *state;
	struct graph *g;

	fixture_stack(f, "a;tiny;a", 5);
	fixture_stack(f, "a", 95);
	g = fold(f, &options);
	assert_null(find_call(g, "a", "a"));
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_sums),
		TEST(test_recursion),
		TEST(test_deep_recursion),
		TEST(test_overflow),
		TEST(test_order),
		TEST(test_nothing_is_left),
		TEST(test_fraction),
		TEST(test_count),
		TEST(test_edge_fraction),
		TEST(test_inlined),
		TEST(test_objects),
		TEST(test_tree),
		TEST(test_mean),
		TEST(test_redundant),
		TEST(test_inlined_in_trees),
		TEST(test_heavy_residual),
		TEST(test_namesakes_in_order),
		TEST(test_namesakes_by_line),
		TEST(test_picture_order),
		TEST(test_namesakes_by_flat),
		TEST(test_redundant_by_each_other),
		TEST(test_no_residual_loop),
		TEST(test_dropped_calls_of_negative),
		TEST(test_count_of_labels),
		TEST(test_count_of_callers_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
