/* SPDX-License-Identifier: MIT */
/* What is told above a view: of the profile, of what was lost, and of what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/fixture.h"

#define MS INT64_C(1000000)

static void test_header(void **state)
{
	static const char *const notes[] = {"Merged from 2 files"};
	struct profile_mapping mapping = {.limit = 1};
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	struct view_input input;
	char *text;

	fixture_three(f);
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
	input.n_shown = 100;
	input.n_rootless = 9;
	text = fixture_show(f, &view_text, NULL, &input);
	assert_contains(text, "Merged from 2 files\nFile: server\nBuild ID: abcd\ntold?by hand\n"
			      "Type: samples\nTime: 2023-11-14 22:13:20 UTC\n"
			      "Duration: 2.50s, Total samples = 100\n"
			      "Few samples: 100; shares may be off by up to 10 points\n"
			      "Lost: 42 of 5940 samples of the machine (skipped 40, memory 2); "
			      "stacks without a root: 9 of 100\nShowing");
	free(text);
	/* Of a long wait one sample is of many periods. */
	input.type = 1;
	input.total = 399 * MS;
	f->p->period = MS;
	f->p->period_type = f->p->sample_types[1];
	text = fixture_show(f, &view_text, NULL, &input);
	assert_contains(text, "Few samples: 399; shares may be off by up to 5 points\n");
	free(text);
	input.total = 400 * MS;
	text = fixture_show(f, &view_text, NULL, &input);
	assert_lacks(text, "Few samples");
	free(text);
	input.type = 0;
	f->p->period = 0;
	input.total = 100;
	input.n_shown = 400;
	text = fixture_show(f, &view_text, NULL, &input);
	assert_lacks(text, "Few samples");
	free(text);
	/* Of nanoseconds the share of the time is told, too. */
	options.unit = "auto";
	input.type = 1;
	input.total = 1250 * MS;
	text = fixture_show(f, &view_text, &options, &input);
	assert_contains(text, "Duration: 2.50s, Total samples = 1.25s (50.00%)\n");
	free(text);
}

/* profd's profiles are of services, on a host, from when to when; their first mapping tells less.
 */
static void test_subject(void **state)
{
	struct profile_mapping mapping = {.limit = 1};
	struct fixture *f = *state;
	uint32_t services[4];
	struct view_input input;
	char *text;

	fixture_three(f);
	mapping.path = fixture_text(f, "[kernel.kallsyms]");
	assert_int_equal(profile_add_mapping(f->p, &mapping, &(uint32_t){0}), 0);
	assert_int_equal(profile_add_comment(f->p, "# profd host: web1"), 0);
	setenv("TZ", "UTC", 1);
	tzset();
	f->p->time_ns = INT64_C(1700000000) * 1000 * MS;
	f->p->duration_ns = 3000 * MS;
	input = fixture_input(f);
	text = fixture_show(f, &view_text, NULL, &input);
	assert_contains(text, "File: [kernel.kallsyms]\nHost: web1\n");
	free(text);
	for (size_t i = 0; i < ARRAY_SIZE(services); i++)
		services[i] = fixture_text(f, (const char *const[]){"a", "b\n", "c", "d"}[i]);
	input.services = services;
	input.n_services = 2;
	text = fixture_show(f, &view_text, NULL, &input);
	assert_contains(text, "Service: a, b?\nHost: web1\nType: samples\n"
			      "Time: 2023-11-14 22:13:20 to 22:13:23 UTC\n");
	assert_lacks(text, "kallsyms");
	free(text);
	assert_int_equal(profile_add_comment(f->p, "# profd host: web2"), 0);
	f->p->duration_ns = 86400 * 1000 * MS;
	input.n_services = 4;
	text = fixture_show(f, &view_text, NULL, &input);
	assert_contains(text, "Service: 4 services\nHost: 2 hosts\nType: samples\n"
			      "Time: 2023-11-14 22:13:20 to 2023-11-15 22:13:20 UTC\n");
	free(text);
	text = fixture_show(f, &view_speedscope, NULL, &input);
	assert_contains(text, "\"name\":\"4 services on 2 hosts\"");
	free(text);
}

/* The table below what it is told with these comments. */
static char *text_with(struct fixture *f, const char *const *comments, size_t n)
{
	fixture_three(f);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(profile_add_comment(f->p, comments[i]), 0);
	return fixture_view(f, &view_text, NULL);
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
	cleanup(freep) char *text = text_with(*state, lines, ARRAY_SIZE(lines));

	assert_contains(text,
			"Lost: 1000000000000000000 of 999999999999999999 samples of the machine "
			"(a 999999999999999999)\n");
}

/* Programs that know nothing of ledgers put the comments of several files together. */
static void test_several_ledgers(void **state)
{
	static const char *const lines[] = {
		"# profd ledger: expected=10 lost.ring=1 lost.skipped=2 truncated.x=3 source=bpf",
		"# profd ledger: expected=20 lost.skipped=5\tbroken.y=4 lost.es\x1b[31mcape=1",
	};
	cleanup(freep) char *text = text_with(*state, lines, ARRAY_SIZE(lines));

	assert_contains(text, "Lost: 9 of 30 samples of the machine (skipped 7, es?[31mcape 1, "
			      "ring 1)\n");
}

/* Sums stay at the most there is. */
static void test_endless_ledger(void **state)
{
	static const char *const lines[] = {
		"# profd ledger: expected=9999999999999999999 lost.a=9999999999999999999 "
		"lost.b=9999999999999999998",
		"# profd ledger: expected=1",
	};
	cleanup(freep) char *text = text_with(*state, lines, ARRAY_SIZE(lines));

	assert_contains(text, "Lost: 18446744073709551615 of 9999999999999999999 samples of the "
			      "machine (a 9999999999999999999, b 9999999999999999998)\n");
}

/* Before 1970, and not on the second. */
static void test_early_time(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	fixture_three(f);
	setenv("TZ", "UTC", 1);
	tzset();
	f->p->time_ns = -1;
	text = fixture_view(f, &view_text, NULL);
	assert_contains(text, "Time: 1969-12-31 23:59:59 UTC\n");
}

static void test_long_filter(void **state)
{
	char whole[81], longer[82];
	const char *const filters[] = {whole, longer};
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	char lines[256];

	memset(whole, 'x', 80);
	whole[80] = '\0';
	memset(longer, 'x', 81);
	longer[81] = '\0';
	options.filters = filters;
	options.n_filters = 2;
	fixture_three(f);
	text = fixture_view(f, &view_text, &options);
	snprintf(lines, sizeof(lines), "\n   %s\n   %s\xe2\x80\xa6\nShowing", whole, whole);
	assert_contains(text, lines);
}

/* What was left out is told where there is a total that it is a part of, and calls in pictures. */
static void test_dropped(void **state)
{
	struct view_options options = fixture_bare();
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_header),         TEST(test_subject),        TEST(test_several_ledgers),
		TEST(test_header),         TEST(test_hostile_ledger), TEST(test_several_ledgers),
		TEST(test_endless_ledger), TEST(test_early_time),     TEST(test_long_filter),
		TEST(test_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
