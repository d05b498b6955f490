/* SPDX-License-Identifier: MIT */
/* What the text views write of hand-made stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/fixture.h"

#define MS INT64_C(1000000)

/* The table alone. */
static struct view_options bare(void)
{
	struct view_options options;

	view_options_init(&options);
	options.compact_labels = true;
	return options;
}

static void push_three(struct fixture *f)
{
	fixture_stack(f, "main;work;copy", 30);
	fixture_stack(f, "main;work", 50);
	fixture_stack(f, "main;+idle", 20);
}

static void test_text(void **state)
{
	struct view_options options = bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	push_three(f);
	text = fixture_view(f, &view_text, &options);
	assert_string_equal(text, "Showing nodes accounting for 100, 100% of 100 total\n"
				  "      flat  flat%   sum%        cum   cum%\n"
				  "        50 50.00% 50.00%         80 80.00%  work\n"
				  "        30 30.00% 80.00%         30 30.00%  copy\n"
				  "        20 20.00%   100%         20 20.00%  idle (inline)\n"
				  "         0     0%   100%        100   100%  main\n");
}

static void test_text_trimmed(void **state)
{
	struct view_options options = bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL, *whole = NULL;
	const char *const filters[] = {"focus=main"};

	push_three(f);
	fixture_stack(f, "rare;rarer", 1);
	options.nodefraction = .02;
	options.nodecount = 2;
	options.by_cum = true;
	options.filters = filters;
	options.n_filters = 1;
	text = fixture_view(f, &view_text, &options);
	assert_string_equal(text, "Active filters:\n   focus=main\n"
				  "Showing nodes accounting for 50, 49.50% of 101 total\n"
				  "Dropped 2 nodes (cum <= 2)\n"
				  "Showing top 2 nodes out of 4\n"
				  "      flat  flat%   sum%        cum   cum%\n"
				  "         0     0%     0%        100 99.01%  main\n"
				  "        50 49.50% 49.50%         80 79.21%  work\n");
	options.no_trim = true;
	whole = fixture_view(f, &view_text, &options);
	assert_contains(whole, "rarer\n");
	assert_lacks(whole, "Dropped");
}

static void test_units(void **state)
{
	struct view_options options = bare();
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

static void test_header(void **state)
{
	static const char *const notes[] = {"Merged from 2 files"};
	struct profile_mapping mapping = {.limit = 1};
	struct view_options options;
	struct fixture *f = *state;
	struct view_input input;
	char *text;

	push_three(f);
	mapping.path = fixture_text(f, "/usr/bin/server");
	mapping.build_id = fixture_text(f, "abcd");
	assert_int_equal(profile_add_mapping(f->p, &mapping, &(uint32_t){0}), 0);
	assert_int_equal(profile_add_comment(f->p, "told\nby hand"), 0);
	assert_int_equal(profile_add_comment(f->p, "# profd ledger: expected=5940 seen=5900 "
						   "complete=5800 truncated.depth=3 broken.cfi=4 "
						   "lost.skipped=40 lost.ring=0 lost.memory=2 "
						   "in_flight=1 source=bpf"),
			 0);
	setenv("TZ", "UTC", 1);
	tzset();
	f->p->time_ns = INT64_C(1700000000) * 1000 * MS;
	f->p->duration_ns = 2500 * MS;
	input = fixture_input(f);
	input.notes = notes;
	input.n_notes = 1;
	text = fixture_show(f, &view_text, NULL, &input);
	assert_contains(text, "Merged from 2 files\nFile: server\nBuild ID: abcd\ntold?by hand\n"
			      "Type: samples\nTime: Nov 14, 2023 at 10:13pm (UTC)\n"
			      "Duration: 2.50s, Total samples = 100\n"
			      "Lost: 42 of 5940 samples of the time (skipped 40, memory 2); "
			      "stacks without a root: 7\nShowing");
	free(text);
	/* Of nanoseconds the share of the time is told, too. */
	view_options_init(&options);
	options.unit = "auto";
	input.type = 1;
	input.total = 1250 * MS;
	text = fixture_show(f, &view_text, &options, &input);
	assert_contains(text, "Duration: 2.50s, Total samples = 1.25s (50.00%)\n");
	free(text);
}

static void test_hostile_ledger(void **state)
{
	static const char *const lines[] = {
		"# profd ledger: ",
		"# profd ledger: expected",
		"# profd ledger: expected=",
		"# profd ledger: lost.=1 lost.x=99999999999999999999999 =5 == \t lost.y=1x",
		"# profd ledger: expected=999999999999999999 lost.a=999999999999999999",
	};
	struct fixture *f = *state;
	char *text;

	push_three(f);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(profile_add_comment(f->p, lines[i]), 0);
	text = fixture_view(f, &view_text, NULL);
	assert_contains(text, "Lost: 1000000000000000000 of 999999999999999999 samples of the time "
			      "(a 999999999999999999)\n");
	free(text);
}

/* What was left out is told where there is a total that it is a part of, and calls in pictures. */
static void test_dropped(void **state)
{
	struct view_options options = bare();
	struct fixture *f = *state;
	struct view_input input;
	char *text;

	options.nodefraction = .05;
	options.edgefraction = .15;
	fixture_stack(f, "main;work", 80);
	fixture_stack(f, "main;little", 11);
	fixture_stack(f, "main;rare", 3);
	text = fixture_view(f, &view_tree, &options);
	assert_contains(text, "Dropped 1 node (cum <= 4)\n");
	assert_lacks(text, "edge");
	free(text);
	text = fixture_view(f, &view_dot, &options);
	assert_contains(text, "Dropped 1 edge (freq <= 14)\\l");
	free(text);
	input = fixture_input(f);
	input.total = -94;
	assert_int_equal(fixture_try(f, &view_tree, &options, &input, &text), 0);
	assert_contains(text, "Dropped 1 node (cum <= 4)\n");
	free(text);
	input.total = 0;
	assert_int_equal(fixture_try(f, &view_tree, &options, &input, &text), 0);
	assert_lacks(text, "Dropped");
	free(text);
}

static void test_long_filter(void **state)
{
	char whole[81], longer[82];
	const char *const filters[] = {whole, longer};
	struct view_options options = bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	char lines[256];

	memset(whole, 'x', 80);
	whole[80] = '\0';
	memset(longer, 'x', 81);
	longer[81] = '\0';
	options.filters = filters;
	options.n_filters = 2;
	push_three(f);
	text = fixture_view(f, &view_text, &options);
	snprintf(lines, sizeof(lines), "\n   %s\n   %s\xe2\x80\xa6\nShowing", whole, whole);
	assert_contains(text, lines);
}

/* Nothing is divided by what is less than nothing. */
static void test_divide_by(void **state)
{
	struct view_options options = bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	push_three(f);
	options.divide_by = -2;
	text = fixture_view(f, &view_text, &options);
	assert_contains(text, "        50 50.00%");
}

/* Where all means are less than one, the total tells the unit. */
static void test_small_means(void **state)
{
	struct view_options options = bare();
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

/* Programs that know nothing of ledgers put the comments of several files together. */
static void test_several_ledgers(void **state)
{
	static const char *const lines[] = {
		"# profd ledger: expected=10 lost.ring=1 lost.skipped=2 truncated.x=3 source=bpf",
		"# profd ledger: expected=20 lost.skipped=5\tbroken.y=4 lost.es\x1b[31mcape=1",
	};
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	push_three(f);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(profile_add_comment(f->p, lines[i]), 0);
	text = fixture_view(f, &view_text, NULL);
	assert_contains(text, "Lost: 9 of 30 samples of the time (skipped 7, es?[31mcape 1, "
			      "ring 1); stacks without a root: 7\n");
}

/* Sums stay at the most there is. */
static void test_endless_ledger(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	push_three(f);
	assert_int_equal(profile_add_comment(f->p, "# profd ledger: expected=9999999999999999999 "
						   "lost.a=9999999999999999999 "
						   "lost.b=9999999999999999998"),
			 0);
	assert_int_equal(profile_add_comment(f->p, "# profd ledger: expected=1"), 0);
	text = fixture_view(f, &view_text, NULL);
	assert_contains(text, "Lost: 18446744073709551615 of 9999999999999999999 samples of the "
			      "time (a 9999999999999999999, b 9999999999999999998)\n");
}

/* Before 1970, and not on the second. */
static void test_early_time(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	push_three(f);
	setenv("TZ", "UTC", 1);
	tzset();
	f->p->time_ns = -1;
	text = fixture_view(f, &view_text, NULL);
	assert_contains(text, "Time: Dec 31, 1969 at 11:59pm (UTC)\n");
}

/* Units are texts of strangers; columns are of characters. */
static void test_strange_units(void **state)
{
	struct view_options options = bare();
	struct fixture *f = *state;
	char *text;

	push_three(f);
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

static void test_tree(void **state)
{
	struct view_options options = bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	push_three(f);
	text = fixture_view(f, &view_tree, &options);
	assert_contains(
		text,
		"----------------------------------------------------------+-------------\n"
		"                                                80   100% |   main\n"
		"        50 50.00% 50.00%         80 80.00%                | work\n"
		"                                                30 37.50% |   copy\n"
		"----------------------------------------------------------+-------------\n"
		"                                                30   100% |   work\n"
		"        30 30.00% 80.00%         30 30.00%                | copy\n"
		"----------------------------------------------------------+-------------\n"
		"                                                20   100% |   main (inline)\n"
		"        20 20.00%   100%         20 20.00%                | idle\n"
		"----------------------------------------------------------+-------------\n"
		"         0     0%   100%        100   100%                | main\n"
		"                                                80 80.00% |   work\n"
		"                                                20 20.00% |   idle (inline)\n"
		"----------------------------------------------------------+-------------\n");
}

static void test_peek(void **state)
{
	struct view_options options = bare();
	struct profile_message message;
	struct fixture *f = *state;
	struct view_input input;
	struct view *view;
	char *text;

	push_three(f);
	fixture_stack(f, "corner", 1);
	fixture_stack(f, "other", 1000);
	options.pattern = "^co";
	text = fixture_view(f, &view_peek, &options);
	/* However little it weighs. */
	assert_contains(text, "| corner\n");
	assert_contains(text, "|   work\n");
	assert_contains(text, "| copy\n");
	assert_lacks(text, "main");
	free(text);
	options.pattern = "nobody";
	input = fixture_input(f);
	assert_int_equal(fixture_try(f, &view_peek, &options, &input, &text), VIEW_E_NO_MATCH);
	assert_string_equal(text, "");
	free(text);
	options.pattern = "(";
	assert_int_equal(report_view_new(&view, &view_peek, &options, &message), VIEW_E_BAD_OPTION);
	assert_contains(message.text, "peek");
}

static void test_traces(void **state)
{
	struct view_options options = bare();
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

static void test_tags(void **state)
{
	struct view_options options = bare();
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
	assert_string_equal(text, " comm: Total 46.0\n"
				  "       24.0 (52.17%): nginx\n"
				  "       22.0 (47.83%): sh\n"
				  "\n"
				  " size: Total 46.0\n"
				  "       46.0 (  100%): 976.56kB\n"
				  "\n");
}

static void test_raw(void **state)
{
	struct profile_mapping mapping = {.start = 0x1000, .limit = 0x2000, .has_functions = true};
	struct profile_function function = {.start_line = 5};
	struct profile_line lines[2] = {{.line = 7}, {.line = 9}};
	struct profile_label labels[2] = {{0}, {.num = 5}};
	const int64_t values[2] = {3, 30};
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	uint32_t m, locations[2];
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	mapping.path = fixture_text(f, "/bin/x");
	assert_int_equal(profile_add_mapping(f->p, &mapping, &m), 0);
	function.name = fixture_text(f, "inner");
	function.system_name = fixture_text(f, "_inner");
	function.filename = fixture_text(f, "in.c");
	assert_int_equal(profile_add_function(f->p, &function, &lines[0].function), 0);
	function.name = function.system_name = fixture_text(f, "outer");
	assert_int_equal(profile_add_function(f->p, &function, &lines[1].function), 0);
	assert_int_equal(profile_add_location(f->p, m, 0x1234, lines, 2, &locations[0]), 0);
	assert_int_equal(profile_add_location(f->p, PROFILE_NONE, 0, NULL, 0, &locations[1]), 0);
	labels[0].key = fixture_text(f, "comm");
	labels[0].str = fixture_text(f, "sh\x1b[2J");
	labels[1].key = fixture_text(f, "n");
	assert_int_equal(profile_add_sample(f->p, locations, 2, values, labels, 2), 0);
	f->p->default_sample_type = fixture_text(f, "cpu");
	f->p->period = 10;
	f->p->duration_ns = 61500 * MS;
	assert_int_equal(raw_write(f->p, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "Period: 10\nDuration: 1m1.\nSamples:\n"
				  "samples/count cpu/nanoseconds[dflt]\n"
				  "          3         30: 1 2 \n"
				  "                comm:[sh?[2J]\n"
				  "                n:[5]\n"
				  "Locations\n"
				  "     1: 0x1234 M=1 inner in.c:7 s=5(_inner)\n"
				  "             outer in.c:9 s=5\n"
				  "     2: 0x0 \n"
				  "Mappings\n"
				  "1: 0x1000/0x2000/0x0 /bin/x  [FN]\n");
}

static char *raw_text(const struct profile *p)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	assert_int_equal(raw_write(p, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* As Go prints durations, of which pprof takes four characters. */
static void test_raw_durations(void **state)
{
	static const struct {
		int64_t ns;
		const char *line;
	} cases[] = {
		{999, "\nDuration: 999n\n"},
		{1000, "\nDuration: 1\xc2\xb5s\n"},
		{1500 * 1000, "\nDuration: 1.5m\n"},
		{1000 * MS, "\nDuration: 1s\n"},
		{59 * 60 * 1000 * MS, "\nDuration: 59m0\n"},
		{60 * 60 * 1000 * MS, "\nDuration: 1h0m\n"},
		{-90 * 1000 * MS, "\nDuration: -1m3\n"},
		{INT64_MIN, "\nDuration: -256\n"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(freep) char *text = NULL;

		f->p->duration_ns = cases[i].ns;
		text = raw_text(f->p);
		assert_contains(text, cases[i].line);
	}
}

static void test_raw_details(void **state)
{
	struct profile_label labels[3] = {{.num = 5}, {.num = 6}, {.num = 7}};
	struct fixture *f = *state;
	uint32_t location;
	char *text;

	setenv("TZ", "UTC", 1);
	tzset();
	f->p->time_ns = -1;
	f->p->period_type.type = fixture_text(f, "cpu");
	f->p->sample_types[0].type = 0;
	labels[0].key = labels[2].key = fixture_text(f, "z");
	labels[1].key = fixture_text(f, "a");
	labels[2].num_unit = fixture_text(f, "bytes");
	assert_int_equal(profile_add_location(f->p, PROFILE_NONE, 16, NULL, 0, &location), 0);
	f->p->locations[location].is_folded = true;
	assert_int_equal(
		profile_add_sample(f->p, &location, 1, (const int64_t[]){3, 30}, labels, 3), 0);
	text = raw_text(f->p);
	assert_contains(text, "PeriodType: cpu \n");
	assert_contains(text, "Time: 1969-12-31 23:59:59.999999999 +0000 UTC\n");
	assert_contains(text, "Samples:\n/count cpu/nanoseconds\n");
	assert_contains(text, "                a:[6] z:[5  7 bytes]\n");
	assert_contains(text, "     1: 0x10 [F] \n");
	free(text);
	f->p->time_ns = 1500 * MS;
	text = raw_text(f->p);
	assert_contains(text, "Time: 1970-01-01 00:00:01.5 +0000 UTC\n");
	free(text);
}

static void test_comments(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	assert_int_equal(profile_add_comment(f->p, "one\x1b"), 0);
	assert_int_equal(profile_add_comment(f->p, "# two"), 0);
	text = fixture_view(f, &view_comments, NULL);
	assert_string_equal(text, "one?\n# two\n");
}

/* What a function weighs with its callees counts for the unit, if it has nothing of its own. */
static void test_smallest(void **state)
{
	struct view_options options = bare();
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

/* One key with texts and numbers has a line of each; means are divided by their sample's count. */
static void test_traces_mean(void **state)
{
	struct view_options options = bare();
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

/* The heaviest first, whatever its sign; equal ones by what they say. Below 0 there are no shares.
 */
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
	struct view_options options = bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		fixture_label(f, fixture_stack(f, "main", labels[i].weight), labels[i].key,
			      labels[i].value, 0, NULL);
	text = fixture_view(f, &view_tags, &options);
	assert_string_equal(text, " order: Total 1.0\n"
				  "        -9.0 (900.00%): c\n"
				  "         5.0 (500.00%): a\n"
				  "         5.0 (500.00%): b\n"
				  "\n"
				  " sign: Total -7.0\n"
				  "       -4.0: y\n"
				  "       -3.0: x\n"
				  "\n");
}

/* Views of no stacks say so, and nothing else. */
static void test_nothing(void **state)
{
	static const struct view_class *const classes[] = {
		&view_text, &view_tree, &view_traces, &view_tags, &view_dot, &view_callgrind,
	};
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		free(fixture_view(f, classes[i], NULL));
	fixture_stack(f, "zero", 0);
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		free(fixture_view(f, classes[i], NULL));
	text = fixture_view(f, &view_tree, NULL);
	assert_string_equal(text + strlen(text) - strlen("context\n"), "context\n");
}

static void test_names(void **state)
{
	struct view_options options = bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	fixture_stack(f, "new\nline;quo\"te \\;caf\xc3\xa9;\x1b[31mred;a", 5);
	f->frames[f->n_frames] = (struct frame){.object = fixture_text(f, "/lib/libc.so.6"),
						.address = 0x1234};
	f->frames[f->n_frames + 1] = (struct frame){.name = fixture_text(f, "f"),
						    .filename = fixture_text(f, "f.c"),
						    .line = 7};
	f->frames[f->n_frames + 2] = (struct frame){0};
	for (uint32_t i = 0; i < 3; i++)
		fixture_push(f, 1, 1 + i)->frames[0] = (uint32_t)f->n_frames + i;
	f->n_frames += 3;
	text = fixture_view(f, &view_text, &options);
	assert_contains(text, "  new?line\n");
	assert_contains(text, "  quo\"te \\\n");
	assert_contains(text, "  caf\xc3\xa9\n");
	assert_contains(text, "  ?[31mred\n");
	assert_contains(text, "  0000000000001234 [libc.so.6]\n");
	assert_contains(text, "  f f.c:7\n");
	assert_contains(text, "  <unknown>\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_text),          TEST(test_text_trimmed),    TEST(test_units),
		TEST(test_header),        TEST(test_hostile_ledger),  TEST(test_tree),
		TEST(test_peek),          TEST(test_traces),          TEST(test_tags),
		TEST(test_raw),           TEST(test_comments),        TEST(test_nothing),
		TEST(test_names),         TEST(test_smallest),        TEST(test_traces_mean),
		TEST(test_tags_in_order), TEST(test_several_ledgers), TEST(test_endless_ledger),
		TEST(test_early_time),    TEST(test_strange_units),   TEST(test_raw_durations),
		TEST(test_raw_details),   TEST(test_dropped),         TEST(test_long_filter),
		TEST(test_divide_by),     TEST(test_small_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
