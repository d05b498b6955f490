/* SPDX-License-Identifier: MIT */
/* callgrind's format of hand-made stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/fixture.h"

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
			      "0x401000 10 5\n"
			      "\nob=(1)\nfl=(1)\nfn=(2) caller\n"
			      "0x401020 12 0\n"
			      "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 0x401010 11\n* * 6\n"
			      "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 0x401000 10\n* * 5\n");
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
	f->n_frames = 2;
	text = fixture_view(f, &view_callgrind, NULL);
	assert_contains(text, "ob=(1) /a.so\nfl=\nfn=(1) same\n");
	assert_contains(text, "ob=(2) /b.so\nfl=\nfn=(1)\n");
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
	assert_contains(text, "fn=(1) [c.so]\n0x1000 0 5\n0x1001 0 4\n");
	assert_contains(text, "fn=(2) [d.so]\n0x1002 0 3\n");
}

/* Means, in the unit that suits the least of them. */
static void test_callgrind_means(void **state)
{
	static const uint64_t addresses[] = {116, 16, 16};
	struct view_options options = fixture_options();
	struct fixture *f = *state;
	struct view_input input;
	cleanup(freep) char *text = NULL;

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
	assert_contains(text, "events: mean_cpu(ns)\n");
	assert_contains(text, " a\n0x74 0 1000000000\n");
	assert_contains(text, " b\n0x10 0 976562\n");
	assert_contains(text, " c\n0x10 0 953\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_callgrind),
		TEST(test_namesakes),
		TEST(test_nameless),
		TEST(test_callgrind_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
