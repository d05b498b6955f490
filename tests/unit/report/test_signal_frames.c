/* SPDX-License-Identifier: MIT */
/* What google-pprof's guess at signal handlers takes out of stacks, and what it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/report/signal_frames.h"
#include "common/profile/profile.h"

struct world {
	struct profile *p;
	char notes[1024];
	unsigned n_notes;
};

static int world_make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(profile_new(&w->p), 0);
	assert_int_equal(profile_add_sample_type(w->p, "samples", "count"), 0);
	*state = w;
	return 0;
}

static int world_remove(void **state)
{
	struct world *w = *state;

	profile_free(w->p);
	free(w);
	return 0;
}

/* A frame is a letter at the address that it is, or, in capitals, at the next one. */
static uint32_t location_of(struct profile *p, char letter, const char *name)
{
	bool is_next = letter >= 'A' && letter <= 'Z';
	uint64_t address = 2 * (uint64_t)(is_next ? letter - 'A' + 'a' : letter) + is_next;
	struct profile_function function = {0};
	struct profile_line line = {0};
	uint32_t location;

	assert_int_equal(profile_add_text(p, name, &function.name), 0);
	assert_int_equal(profile_add_function(p, &function, &line.function), 0);
	assert_int_equal(
		profile_add_location(p, PROFILE_NONE, address, &line, *name ? 1 : 0, &location), 0);
	return location;
}

/* A letter a frame, from the leaf; '(' is a handler of that name and '?' has no name. */
static void add(struct world *w, const char *frames, int64_t value)
{
	uint32_t chain[16], n = 0;

	for (; *frames; frames++) {
		char name[] = {*frames, '\0'};
		const char *text = *frames == '('   ? "ProfileData::prof_handler"
				   : *frames == '_' ? "__restore"
				   : *frames == '?' ? ""
						    : name;

		chain[n++] = location_of(w->p, *frames, text);
	}
	assert_int_equal(profile_add_sample(w->p, chain, n, &value, NULL, 0), 0);
}

static void note(void *context, const char *text)
{
	struct world *w = context;

	w->n_notes++;
	snprintf(w->notes, sizeof(w->notes), "%s", text);
}

static void drop(struct world *w)
{
	assert_int_equal(signal_frames_drop(w->p, &(struct listener){.note = note, .context = w}),
			 0);
}

/* The stacks as add() takes them, and their values: "abc 1;". */
static void expect(const struct world *w, const char *expected)
{
	const struct profile *p = w->p;
	char text[512] = "";
	size_t at = 0;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		for (uint32_t j = 0; j < s->n_locations; j++) {
			uint64_t address =
				p->locations[p->sample_locations[s->first_location + j]].address;

			text[at++] = (char)(address / 2 - (address % 2 ? 'a' - 'A' : 0));
		}
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %d;",
				       (int)p->sample_values[i]);
	}
	assert_string_equal(text, expected);
}

static void test_shared_second(void **state)
{
	struct world *w = *state;

	add(w, "axm", 1);
	add(w, "bxym", 2);
	add(w, "cxym", 3);
	drop(w);
	expect(w, "am 1;bym 2;cym 3;");
	assert_int_equal(w->n_notes, 1);
	assert_string_equal(w->notes, "removed from all stacks: x (0xf0)");
}

/* Each of them, until one is not shared; so a program below one call loses its callers. */
static void test_all_shared(void **state)
{
	struct world *w = *state;

	add(w, "axym", 1);
	add(w, "bxyz", 2);
	drop(w);
	expect(w, "am 1;bz 2;");
	assert_int_equal(w->n_notes, 2);
	add(w, "c?", 3); /* none is shared now */
	drop(w);
	expect(w, "am 1;bz 2;c? 3;");
	assert_int_equal(w->n_notes, 2);
}

static void test_nothing_shared(void **state)
{
	struct world *w = *state;

	add(w, "axm", 1);
	add(w, "aym", 2);
	drop(w);
	expect(w, "axm 1;aym 2;");
	assert_int_equal(w->n_notes, 0);
}

/* A stack of one frame has no second one: then none is shared by all. */
static void test_short_stacks(void **state)
{
	struct world *w = *state;

	drop(w);
	expect(w, "");
	add(w, "axm", 1);
	add(w, "a", 2);
	drop(w);
	expect(w, "axm 1;a 2;");
}

static void test_single_frames(void **state)
{
	struct world *w = *state;

	add(w, "ax", 1);
	add(w, "bx", 2);
	drop(w);
	expect(w, "a 1;b 2;");
}

/* The kernel put the leaf on the stack as if it had been called: one byte behind itself. */
static void test_leaf_again(void **state)
{
	struct world *w = *state;

	add(w, "Axam", 1);
	add(w, "bxam", 2);
	drop(w);
	expect(w, "Am 1;bam 2;");
}

/* Not where nothing else would be left. */
static void test_leaf_again_is_root(void **state)
{
	struct world *w = *state;

	add(w, "Axa", 1);
	add(w, "bxc", 2);
	drop(w);
	expect(w, "Aa 1;bc 2;");
}

/* A recursion of a hundred thousand calls is looked at once. */
static void test_deep(void **state)
{
	enum { DEPTH = 100000 };
	struct world *w = *state;
	uint32_t *chain = calloc(DEPTH, sizeof(*chain));
	int64_t value = 7;

	assert_non_null(chain);
	for (uint32_t i = 0; i < DEPTH; i++)
		chain[i] = location_of(w->p, (char)('a' + i % 20), "f");
	assert_int_equal(profile_add_sample(w->p, chain, DEPTH, &value, NULL, 0), 0);
	drop(w);
	expect(w, "a 7;");
	assert_int_equal(w->n_notes, 11);
	assert_string_equal(w->notes, "99989 more removed from all stacks");
	free(chain);
}

static void test_no_name(void **state)
{
	struct world *w = *state;

	add(w, "a?m", 1);
	add(w, "b?n", 1);
	assert_int_equal(signal_frames_drop(w->p, &(struct listener){0}), 0);
	expect(w, "am 1;bn 1;");
	add(w, "c?", 1);
	drop(w);
	assert_int_equal(w->n_notes, 0);
}

static void test_handlers(void **state)
{
	struct world *w = *state;

	add(w, "(_am", 1);
	add(w, "a(bm", 2);
	add(w, "cbm", 3);
	drop(w);
	expect(w, "am 1;abm 2;cbm 3;");
	assert_int_equal(w->n_notes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shared_second),      TEST(test_all_shared),
		TEST(test_nothing_shared),     TEST(test_short_stacks),
		TEST(test_single_frames),      TEST(test_leaf_again),
		TEST(test_leaf_again_is_root), TEST(test_no_name),
		TEST(test_handlers),           TEST(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
