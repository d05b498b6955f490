/* SPDX-License-Identifier: MIT */
/* Pictures and callgrind's format of hand-made stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/report/node_name.h"
#include "client/report/picture.h"
#include "common/utf8.h"
#include "tests/unit/report/fixture.h"

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

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
	assert_int_equal(count(text, "shape=box "), 4 + 1);
	/* main calls itself. */
	assert_int_equal(count(text, " -> N"), 4);
	assert_contains(text, "main -> main (20)");
}

static void test_trimmed(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
	options.nodefraction = .1;
	fixture_stack(f, "main;thin;leaf", 9);
	fixture_stack(f, "main", 91);
	fixture_stack(f, "leaf", 50);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "Dropped 1 node (cum <= 15)\\l");
	assert_contains(text, "main ... leaf (9)\" style=\"dotted\"");
	assert_lacks(text, "thin");
}

static void test_degree(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	char *text;

	view_options_init(&options);
	fixture_stack(f, "main;a;z", 50);
	fixture_stack(f, "main;b;z", 40);
	fixture_stack(f, "main;c;z", 30);
	text = fixture_view(f, &view_dot, &options);
	assert_int_equal(count(text, " -> N"), 6);
	free(text);
	options.maxdegree = 1;
	text = fixture_view(f, &view_dot, &options);
	/* Each of the others keeps one way that leads to it. */
	assert_int_equal(count(text, " -> N"), 4);
	assert_contains(text, "a -> z");
	free(text);
}

static void test_hostile_names(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL, *picture = NULL;
	struct profile_message message;
	struct profile_mapping mapping = {.limit = 1};
	size_t length;
	FILE *out;
	int r;

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
	/* graphviz itself is the judge, where it is. */
	out = open_memstream(&picture, &length);
	assert_non_null(out);
	r = picture_draw("svg", text, strlen(text), out, &message);
	assert_int_equal(fclose(out), 0);
	if (r != PICTURE_E_NO_PROGRAM) {
		assert_int_equal(r, 0);
		assert_contains(picture, "<svg");
		assert_contains(picture, "quo&quot;te]<");
	}
}

/* Values have units, which are texts of strangers, too. */
static void test_hostile_units(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL, *calls = NULL, *picture = NULL;
	struct profile_message message;
	size_t length;
	FILE *out = open_memstream(&picture, &length);
	int r;

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
	assert_non_null(out);
	r = picture_draw("svg", text, strlen(text), out, &message);
	assert_int_equal(fclose(out), 0);
	assert_true(r == 0 || r == PICTURE_E_NO_PROGRAM);
	calls = fixture_view(f, &view_callgrind, NULL);
	assert_contains(calls, "\nevents: my_?type(\\\"];?)\n\n");
}

static void test_bad_picture(void **state)
{
	static const char text[] = "digraph {";
	struct profile_message message;
	cleanup(freep) char *picture = NULL, *path = NULL;
	cleanup(freep) char *programs = strdup(getenv("PATH"));
	size_t length;
	FILE *out = open_memstream(&picture, &length);
	int r;

	(void)state;
	assert_non_null(out);
	r = picture_draw("svg", text, strlen(text), out, &message);
	assert_true(r == PICTURE_E_FAILED || r == PICTURE_E_NO_PROGRAM);
	setenv("PATH", "/nonexistent", 1);
	unsetenv("BROWSER");
	assert_int_equal(picture_draw("svg", text, strlen(text), out, &message),
			 PICTURE_E_NO_PROGRAM);
	assert_contains(message.text, "graphviz");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(picture, "");
	/* Without a program to show it there still is the file. */
	assert_int_equal(picture_show(PICTURE_GV, ".ps", text, 3, &path, &message),
			 PICTURE_E_NO_PROGRAM);
	assert_contains(message.text, path);
	assert_int_equal(unlink(path), 0);
	setenv("PATH", programs, 1);
}

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
	assert_int_equal(count(text, "shape=box3d"), 4);
}

/* What is left out below a box is told by the box's labels, if it calls nothing else. */
static void test_labels_of_what_is_left_out(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	char *text;

	view_options_init(&options);
	options.nodefraction = .1;
	fixture_stack(f, "main", 80);
	fixture_label(f, fixture_stack(f, "main;work;thin1", 8), "thread", "a", 0, NULL);
	fixture_label(f, fixture_stack(f, "main;work;thin2", 7), "thread", "a", 0, NULL);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "[label=\"thread:a\" fontsize=8 shape=box3d tooltip=\"15\"]");
	/* main has callees, and of its own nothing with labels. */
	assert_int_equal(count(text, "shape=box3d"), 1);
	free(text);
	fixture_stack(f, "main;work;other", 50);
	text = fixture_view(f, &view_dot, &options);
	/* Now work has a callee, too: its labels tell what is its own, and that is nothing. */
	assert_int_equal(count(text, "shape=box3d"), 0);
	free(text);
}

/* A function that calls itself alone calls nothing else. */
static void test_labels_of_recursion(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
	options.nodefraction = .1;
	fixture_stack(f, "main;work;work", 100);
	fixture_label(f, fixture_stack(f, "main;work;thin1", 8), "thread", "a", 0, NULL);
	fixture_label(f, fixture_stack(f, "main;work;thin2", 7), "thread", "a", 0, NULL);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "[label=\"thread:a\" fontsize=8 shape=box3d tooltip=\"15\"]");
}

/* Up to four come in the unit that was asked for. */
static void test_few_numbers(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
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
	assert_int_equal(count(text, "shape=box3d"), 4);
	assert_contains(text, "_n0 [label=\"16B\"");
	/* The lighter ones join what they are nearest to: 30, 20 and 10. */
	assert_contains(text, "[label=\"4kB..1MB\" fontsize=8 shape=box3d tooltip=\"60\"]");
	/* Nothing of it is of what work calls. */
	assert_lacks(text, "dotted");
	assert_lacks(text, "99");
}

static void test_call_tree(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
	options.call_tree = true;
	fixture_stack(f, "main;a;x", 5);
	fixture_stack(f, "main;b;x", 7);
	text = fixture_view(f, &view_dot, &options);
	assert_int_equal(count(text, "[label=\"x\\n"), 2);
	assert_int_equal(count(text, " -> N"), 4);
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
	struct view_options options;
	struct fixture *f = *state;
	struct view_input input;
	char *text, color[128];

	view_options_init(&options);
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

/* Calls beyond the limit of their caller go, too, if another one leads to their callee. */
static void test_degree_of_caller(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
	options.maxdegree = 2;
	fixture_stack(f, "main;a", 50);
	fixture_stack(f, "main;b", 40);
	fixture_stack(f, "other;c", 30);
	fixture_stack(f, "main;c", 20);
	text = fixture_view(f, &view_dot, &options);
	assert_int_equal(count(text, " -> N"), 3);
	assert_lacks(text, "main -> c");
	assert_contains(text, "other -> c");
}

/* A label that weighs as much as may be left out stays; so does one that weighs so much by itself
 * or with what was left out below it. Arrows from where labels hang are longer. */
static void test_light_labels(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	char *text;

	view_options_init(&options);
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
	struct view_options options;
	struct fixture *f = *state;
	char *text;

	view_options_init(&options);
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

/* A key's unit may be known only when some of its numbers were counted. */
static void test_late_unit(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
	options.no_trim = true;
	fixture_label(f, fixture_stack(f, "main", 10), "bytes", NULL, 3, NULL);
	fixture_label(f, fixture_stack(f, "main", 5), "bytes", NULL, 4, "kilobytes");
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "[label=\"3kB\"");
	assert_contains(text, "[label=\"4kB\"");
	assert_int_equal(count(text, "box3d"), 2);
}

static void test_callgrind(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	uint32_t object = fixture_text(f, "/bin/x"), file = fixture_text(f, "x.c");

	for (uint32_t i = 0; i < 3; i++)
		f->frames[i] = (struct frame){.name = fixture_text(f, i < 2 ? "callee" : "caller"),
					      .filename = file,
					      .object = object,
					      .line = 10 + i,
					      .address = 0x401000 + 16 * i};
	f->n_frames = 3;
	for (uint32_t i = 0; i < 2; i++) {
		struct fixture_stack *s = fixture_push(f, 2, 5 + i);

		s->frames[0] = i;
		s->frames[1] = 2;
	}
	text = fixture_view(f, &view_callgrind, NULL);
	assert_contains(text, "# callgrind format\nversion: 1\n");
	assert_contains(text, "positions: instr line\nevents: samples(count)\n"
			      "\nob=(1) /bin/x\nfl=(1) x.c\nfn=(1) callee\n"
			      "0x401010 11 6\n"
			      "-16 10 5\n"
			      "\nob=(1)\nfl=(1)\nfn=(2) caller\n"
			      "+32 12 0\n"
			      "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 -16 11\n* * 6\n"
			      "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 -32 10\n* * 5\n");
}

/* Functions of one name and file, but of different objects. */
static void test_namesakes(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	for (uint32_t i = 0; i < 2; i++) {
		f->frames[i] = (struct frame){.name = fixture_text(f, "same"),
					      .object = fixture_text(f, i ? "/b.so" : "/a.so")};
		fixture_push(f, 1, 5 - (int64_t)i)->frames[0] = i;
	}
	f->frames[2] = (struct frame){.object = fixture_text(f, "/c.so")};
	fixture_push(f, 1, 1)->frames[0] = 2;
	f->frames[3] = (struct frame){.name = fixture_text(f, "twice"), .start_line = 1};
	f->frames[4] = (struct frame){.name = fixture_text(f, "twice"), .start_line = 2};
	for (uint32_t i = 3; i < 5; i++)
		fixture_push(f, 1, 1)->frames[0] = i;
	f->n_frames = 5;
	text = fixture_view(f, &view_callgrind, NULL);
	assert_contains(text, " twice [1/2]\n");
	assert_contains(text, " twice [2/2]\n");
	assert_contains(text, "ob=(1) /a.so\nfl=\nfn=(1) same [1/2]\n");
	assert_contains(text, "ob=(2) /b.so\nfl=\nfn=(2) same [2/2]\n");
	assert_contains(text, "fn=(3) [c.so]\n");
}

/* What has no name is called by its object, one function of each. */
static void test_nameless(void **state)
{
	static const char *const objects[] = {"/c.so", "/c.so", "/d.so"};
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	for (uint32_t i = 0; i < 3; i++) {
		f->frames[i] = (struct frame){.object = fixture_text(f, objects[i]),
					      .address = 0x1000 + i,
					      .start_line = i};
		fixture_push(f, 1, 5 - (int64_t)i)->frames[0] = i;
	}
	f->n_frames = 3;
	text = fixture_view(f, &view_callgrind, NULL);
	assert_contains(text, "fn=(1) [c.so]\n0x1000 0 5\n+1 0 4\n");
	assert_contains(text, "fn=(2) [d.so]\n+1 0 3\n");
}

/* On each way to it a function is one by itself; nothing is left out, however little it is. */
static void test_callgrind_tree(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
	options.call_tree = true;
	fixture_stack(f, "main;a;x", 5000);
	fixture_stack(f, "main;b;x", 1);
	text = fixture_view(f, &view_callgrind, &options);
	assert_contains(text, " x [1/2]\n");
	assert_contains(text, " x [2/2]\n");
	assert_contains(text, " b\n");
}

/* What is not there has no namesakes. */
static void test_callgrind_negative(void **state)
{
	struct view_options options;
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
	options.drop_negative = true;
	f->n_frames = 2;
	for (uint32_t i = 0; i < 2; i++) {
		f->frames[i] = (struct frame){.name = fixture_text(f, "same"), .start_line = i};
		fixture_push(f, 1, i ? -7 : 7)->frames[0] = i;
	}
	text = fixture_view(f, &view_callgrind, &options);
	assert_contains(text, "fn=(1) same\n");
}

/* The shorter one of both, the whole one if they are of one length; '*' is the same again. */
static void test_callgrind_addresses(void **state)
{
	static const uint64_t addresses[] = {116, 16, 16};
	struct view_options options;
	struct fixture *f = *state;
	struct view_input input;
	cleanup(freep) char *text = NULL;

	view_options_init(&options);
	for (uint32_t i = 0; i < 3; i++) {
		char name[] = {(char)('a' + (int)i), '\0'};

		f->frames[i] = (struct frame){.name = fixture_text(f, name),
					      .address = addresses[i]};
		fixture_push(f, 1, 2)->frames[0] = i;
		f->stacks[i].values[1] = 2000000000 >> 10 * i;
	}
	f->n_frames = 3;
	input = fixture_input(f);
	input.type = 1;
	input.mean = true;
	input.total = 2000000000;
	assert_int_equal(fixture_try(f, &view_callgrind, &options, &input, &text), 0);
	/* Means, in the unit that suits the least of them. */
	assert_contains(text, "events: mean_cpu(ns)\n");
	assert_contains(text, " a\n0x74 0 1000000000\n");
	assert_contains(text, " b\n0x10 0 976562\n");
	assert_contains(text, " c\n* 0 953\n");
}

static void test_short_names(void **state)
{
	static const struct {
		const char *name, *lines;
	} cases[] = {
		{"github.com/a-b/c/v2/pkg.(*T).Method", "pkg\n(*T)\nMethod"},
		{"github.com/a/b/v2.F", "b\nF"},
		{"runtime.main.func1", "runtime\nmain\nfunc1"},
		{"a/v1/b.F", "b\nF"},
		{"slices.Sort[...]", "slices\nSort[...]"},
		{"java.util.concurrent.ThreadPool$Worker.run", "ThreadPool$Worker\nrun"},
		{"com.a.Thing.<init>(Ljava/lang/String;)V", "Thing\n<init>"},
		{"com.a.Thing.run(int, char)", "Thing\nrun"},
		{"space::other::Class::method(int)", "Class\nmethod"},
		{"space::Class::~Class()", "Class\n~Class"},
		{"space::_Impl::get<std::less<int>>(x)", "_Impl\nget<std\nless<int>>"},
		{"(anonymous namespace)::Class::go", "Class\ngo"},
		{"std::sort", "std\nsort"},
		{"operator new(unsigned long)", "operator new(unsigned long)"},
		{"::", "\n"},
		{"/", "/"},
		{"a::", "a\n"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame frame = {.name = fixture_text(f, cases[i].name)};
		cleanup(freep) char *lines = NULL;

		assert_int_equal(node_name_lines(f->p, &frame, &lines), 0);
		assert_string_equal(lines, cases[i].lines);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_boxes),
		TEST(test_trimmed),
		TEST(test_degree),
		TEST(test_hostile_names),
		TEST(test_hostile_units),
		TEST(test_bad_picture),
		TEST(test_labels),
		TEST(test_labels_of_what_is_left_out),
		TEST(test_labels_of_recursion),
		TEST(test_few_numbers),
		TEST(test_numbers),
		TEST(test_call_tree),
		TEST(test_callgrind),
		TEST(test_namesakes),
		TEST(test_short_names),
		TEST(test_colors),
		TEST(test_negative_font),
		TEST(test_degree_of_caller),
		TEST(test_light_labels),
		TEST(test_base_label),
		TEST(test_labels_in_order),
		TEST(test_late_unit),
		TEST(test_nameless),
		TEST(test_callgrind_tree),
		TEST(test_callgrind_negative),
		TEST(test_callgrind_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
