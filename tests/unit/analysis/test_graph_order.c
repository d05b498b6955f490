/* SPDX-License-Identifier: MIT */
/* In which order the functions of a call graph come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/analysis/graph_fixture.h"

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

/* Of one name and weight: by their objects. */
static void test_namesakes_in_order(void **state)
{
	struct graph_options options = {.wants_calls = true};
	static const char *const objects[] = {"libz.so", "liba.so", ""};
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
		assert_string_equal(profile_string(f->p, graph_frame(g, g->order[i])->object),
				    objects[2 - i]);
	graph_free(g);
}

/* Before that by what they weigh with their callees, then by their lines. */
static void test_namesakes_by_line(void **state)
{
	static const uint32_t lines[] = {9, 10, 7}, sorted[] = {7, 9, 10};
	struct graph_options options = {.wants_calls = true};
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
		assert_int_equal(graph_frame(g, g->order[i + 1])->start_line, sorted[i]);
	graph_free(g);
}

/* Of one name and cum: by flat, before all else. */
static void test_namesakes_by_flat(void **state)
{
	struct graph_options options = {.by_cum = true};
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
	assert_int_equal(graph_frame(g, g->order[1])->start_line, 2);
	assert_int_equal(graph_frame(g, g->order[2])->start_line, 1);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_namesakes_in_order),
		TEST(test_namesakes_by_line),
		TEST(test_namesakes_by_flat),
		TEST(test_picture_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
