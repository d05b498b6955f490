/* SPDX-License-Identifier: MIT */
/* What the text views write of hand-made stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/fixture.h"

static void test_text(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	fixture_three(f);
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
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL, *whole = NULL;
	const char *const filters[] = {"focus=main"};

	fixture_three(f);
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
	options.trim = false;
	whole = fixture_view(f, &view_text, &options);
	assert_contains(whole, "rarer\n");
	assert_lacks(whole, "Dropped");
}

static void test_tree(void **state)
{
	struct view_options options = fixture_bare();
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	fixture_three(f);
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
	struct view_options options = fixture_bare();
	struct profile_message message;
	struct fixture *f = *state;
	struct view_input input;
	struct view *view;
	char *text;

	fixture_three(f);
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

static void test_comments(void **state)
{
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;

	assert_int_equal(profile_add_comment(f->p, "one\x1b"), 0);
	assert_int_equal(profile_add_comment(f->p, "# two"), 0);
	text = fixture_view(f, &view_comments, NULL);
	assert_string_equal(text, "one?\n# two\n");
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
	struct view_options options = fixture_bare();
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
		TEST(test_text),     TEST(test_text_trimmed), TEST(test_tree),  TEST(test_peek),
		TEST(test_comments), TEST(test_nothing),      TEST(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
