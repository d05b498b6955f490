/* SPDX-License-Identifier: MIT */
/* Pictures of hand-made stacks: boxes, arrows, colours, and texts of strangers in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/report/picture.h"
#include "common/utf8.h"
#include "tests/unit/report/fixture.h"

static void test_boxes(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	fixture_stack(f, "main;Space::Class::work;copy", 30);
	fixture_stack(f, "main;Space::Class::work", 50);
	fixture_stack(f, "main;main;+idle", 20);
	text = fixture_view(f, &view_dot, NULL);
	assert_contains(text, "digraph \"profile\" {\n");
	assert_contains(text, "Total samples = 100\\lShowing nodes accounting for 100, 100% of 100 "
			      "total\\l\"");
	assert_contains(text, "[label=\"Class\\nwork\\n50 (50.00%)\\nof 80 (80.00%)\"");
	assert_contains(text, "[label=\"main\\n0 of 100 (100%)\"");
	assert_contains(text, "[label=\"copy\\n30 (30.00%)\"");
	assert_contains(text, "tooltip=\"Space::Class::work -> copy (30)\"");
	assert_contains(text, "[label=\" 20\\n (inline)\"");
	assert_int_equal(count_parts(text, "shape=box "), 4 + 1);
	/* main calls itself. */
	assert_int_equal(count_parts(text, " -> N"), 4);
	assert_contains(text, "main -> main (20)");
}

static void test_trimmed(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	options.nodefraction = .1;
	fixture_stack(f, "main;thin;leaf", 9);
	fixture_stack(f, "main", 91);
	fixture_stack(f, "leaf", 50);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "Dropped 1 node (cum <= 15)\\l");
	assert_contains(text, "main ... leaf (9)\" style=\"dotted\"");
	assert_lacks(text, "thin");
}

static void test_call_tree(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	options.call_tree = true;
	fixture_stack(f, "main;a;x", 5);
	fixture_stack(f, "main;b;x", 7);
	text = fixture_view(f, &view_dot, &options);
	assert_int_equal(count_parts(text, "[label=\"x\\n"), 2);
	assert_int_equal(count_parts(text, " -> N"), 4);
}

static void test_degree(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	char *text;

	fixture_stack(f, "main;a;z", 50);
	fixture_stack(f, "main;b;z", 40);
	fixture_stack(f, "main;c;z", 30);
	text = fixture_view(f, &view_dot, &options);
	assert_int_equal(count_parts(text, " -> N"), 6);
	free(text);
	options.maxdegree = 1;
	text = fixture_view(f, &view_dot, &options);
	/* Each of the others keeps one way that leads to it. */
	assert_int_equal(count_parts(text, " -> N"), 4);
	assert_contains(text, "a -> z");
	free(text);
}

/* Calls beyond the limit of their caller go, too, if another one leads to their callee. */
static void test_degree_of_caller(void **state)
{
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	options.maxdegree = 2;
	fixture_stack(f, "main;a", 50);
	fixture_stack(f, "main;b", 40);
	fixture_stack(f, "other;c", 30);
	fixture_stack(f, "main;c", 20);
	text = fixture_view(f, &view_dot, &options);
	assert_int_equal(count_parts(text, " -> N"), 3);
	assert_lacks(text, "main -> c");
	assert_contains(text, "other -> c");
}

/* By share of the total: #RRGGBB as go tool pprof has it. */
static void test_colors(void **state)
{
	static const struct {
		const char *name;
		int64_t value;
		const char *strong, *pale;
		unsigned font;
	} boxes[] = {
		{"all", 100, "#b20000", "#edd5d5", 24},
		{"some", 25, "#b23c00", "#edddd5", 8 + 8},
		{"few", 10, "#b28559", "#ede7e1", 8 + 6},
		{"less", -50, "#21b200", "#d9edd5", 8 + 12},
		{"gone", -100, "#00b200", "#d5edd5", 24},
	};
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	struct view_input input;
	char *text, color[128];

	for (size_t i = 0; i < ARRAY_SIZE(boxes); i++)
		fixture_stack(f, boxes[i].name, boxes[i].value);
	fixture_stack(f, "main;more", 150);
	input = fixture_input(f);
	input.total = 100;
	f->n_stacks--;
	assert_int_equal(fixture_try(f, &view_dot, &options, &input, &text), 0);
	for (size_t i = 0; i < ARRAY_SIZE(boxes); i++) {
		snprintf(color, sizeof(color),
			 "fontsize=%u shape=box tooltip=\"%s (%d)\" color=\"%s\" fillcolor=\"%s\"]",
			 boxes[i].font, boxes[i].name, (int)boxes[i].value, boxes[i].strong,
			 boxes[i].pale);
		assert_contains(text, color);
	}
	free(text);
	/* What is more than all is as strong as all. */
	f->n_stacks++;
	assert_int_equal(fixture_try(f, &view_dot, &options, &input, &text), 0);
	assert_contains(text, "[label=\" 150\" weight=101 penwidth=6 color=\"#b20000\"");
	free(text);
}

/* What is less than nothing has its size of print, too. */
static void test_negative_font(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	fixture_stack(f, "gone", -100);
	fixture_stack(f, "some", 25);
	text = fixture_view(f, &view_dot, NULL);
	assert_contains(text, "fontsize=24 shape=box tooltip=\"gone ");
	assert_contains(text, "fontsize=16 shape=box tooltip=\"some ");
}

/* What graphviz makes of it, which is the judge; NULL where there is none. */
static char *draw(const char *text)
{
	cleanup(freep) char *picture = NULL;
	struct profile_message message;
	size_t length;
	FILE *out = open_memstream(&picture, &length);
	int r;

	assert_non_null(out);
	r = picture_draw("svg", text, strlen(text), out, &message);
	assert_int_equal(fclose(out), 0);
	if (r == REPORT_E_NO_PROGRAM)
		return NULL;
	assert_int_equal(r, 0);
	return steal_ptr(&picture);
}

static void test_hostile_names(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL, *picture = NULL;
	struct profile_mapping mapping = {.limit = 1};

	mapping.path = fixture_text(f, "/a \"b\\\n{c}");
	assert_int_equal(profile_add_mapping(f->p, &mapping, &(uint32_t){0}), 0);
	fixture_stack(f, "quo\"te];\";back\\;new\nline;caf\xc3\xa9<b>&amp;\xff", 5);
	fixture_label(f, &f->stacks[0], "key\"", "va\\l\"\nue", 0, NULL);
	text = fixture_view(f, &view_dot, NULL);
	assert_contains(text, "digraph \"a \\\"b\\\\ {c}\" {");
	assert_contains(text, "quo\\\"te]");
	assert_contains(text, "back\\\\");
	assert_contains(text, "new?line");
	assert_contains(text, "[label=\"caf\xc3\xa9<b>&amp\\n");
	assert_contains(text, "[label=\"" UTF8_REPLACEMENT "\\n");
	assert_contains(text, "key\\\":va\\\\l\\\"?ue");
	picture = draw(text);
	if (picture) {
		assert_contains(picture, "<svg");
		assert_contains(picture, "quo&quot;te]<");
	}
}

/* Values have units, which are texts of strangers, too. */
static void test_hostile_units(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL, *calls = NULL, *picture = NULL;

	f->p->sample_types[0].type = fixture_text(f, "my \x1btype");
	f->p->sample_types[0].unit = fixture_text(f, "\\\"];\n");
	fixture_label(f, fixture_stack(f, "main;+work", 5), "key", "value", 0, NULL);
	fixture_stack(f, "main", 5);
	text = fixture_view(f, &view_dot, NULL);
	assert_contains(text, "[label=\"main\\n5\\\\\\\"];? (50.00%)\\nof 10\\\\\\\"];? (100%)\"");
	assert_contains(text, "tooltip=\"main (10\\\\\\\"];?)\" color=");
	assert_contains(text, "-> N2 [label=\" 5\\\\\\\"];?\\n (inline)\" weight=");
	assert_contains(text, "main -> work (5\\\\\\\"];?)\"");
	assert_contains(text, "shape=box3d tooltip=\"5\\\\\\\"];?\"]\n");
	assert_contains(text,
			"_t0 [label=\" 5\\\\\\\"];?\" weight=100 tooltip=\"5\\\\\\\"];?\"]\n");
	picture = draw(text);
	calls = fixture_view(f, &view_callgrind, NULL);
	assert_contains(calls, "\nevents: my_?type(\\\"];?)\n\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_boxes),         TEST(test_trimmed),          TEST(test_call_tree),
		TEST(test_degree),        TEST(test_degree_of_caller), TEST(test_colors),
		TEST(test_negative_font), TEST(test_hostile_names),    TEST(test_hostile_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
