/* SPDX-License-Identifier: MIT */
/*
 * What is left of a profile, as a profile: shaped once more without filters, it says the same. And
 * profiles whose samples come bit by bit and go: their stacks are those of the whole.
 */
#include "client/analysis/shape.h"
#include "common/profile/pprof_reader.h"
#include "tests/unit/analysis/shape_fixture.h"

/* *ret_left is what @o leaves of @f, whose stacks are @expected then. */
static void check_left(struct fixture *f, const struct shape_options *o, const char *expected,
		       struct profile **ret_left)
{
	cleanup(shape_profile_freep) struct shape_profile *to = NULL;
	cleanup(shape_freep) struct shape *s = NULL;
	struct fixture left = {0};

	assert_int_equal(shape_new(&s, o, NULL), SHAPE_E_OK);
	assert_int_equal(shape_bind(s, f->p), 0);
	assert_int_equal(shape_profile_new(&to, s, f->p), 0);
	for (size_t i = 0; i < f->p->n_samples; i++) {
		struct stack stack;
		int r = shape_stack(s, f->p, i, &stack);

		if (r == SHAPE_E_OK)
			r = shape_profile_add(to, &stack);
		assert_true(r == 0 || r == SHAPE_E_DROPPED);
	}
	assert_int_equal(shape_profile_finish(to, &left.p), 0);
	CHECK(&left, expected, .granularity = SHAPE_ADDRESSES, .ignore_drop_frames = true);
	*ret_left = left.p;
}

#define LEFT(f, ret, expected, ...) \
	check_left(f, &(const struct shape_options){__VA_ARGS__}, expected, ret)

static struct fixture full(void)
{
	struct fixture f = begin();
	uint32_t main_place = place(&f, f.mapping_a, 0x2000, "main@m.c:9");
	struct profile_label label = text_label(&f, "user", "io");

	f.p->time_ns = 1000;
	f.p->duration_ns = 2000;
	f.p->period = 3;
	f.p->period_type = f.p->sample_types[0];
	f.p->default_sample_type = text(f.p, "samples");
	f.p->drop_frames = text(f.p, "malloc");
	assert_int_equal(profile_add_comment(f.p, "a comment"), 0);
	sample(&f, 5, &label, 1, 3, place(&f, f.mapping_a, 0x1010, "a@a.c:1,b@b.c:2"),
	       place(&f, f.mapping_b, 0x101010, "c@c.c:3"), main_place);
	sample(&f, 3, NULL, 0, 2, place(&f, f.mapping_b, 0x101020, ""), main_place);
	sample(&f, 4, NULL, 0, 2, place(&f, PROFILE_NONE, 0x77, "unused@u.c:1"), main_place);
	return f;
}

/* What is cut off a stack is not in its profile. */
static void test_cut_off(void **state)
{
	cleanup(freep) uint32_t *chain = calloc(SHAPE_FRAMES_MAX + 5, sizeof(*chain));
	cleanup(shape_profile_freep) struct shape_profile *to = NULL;
	cleanup(shape_freep) struct shape *s = NULL;
	cleanup(profile_freep) struct profile *left = NULL;
	const struct shape_options o = {0};
	struct fixture f = begin();
	const int64_t value = 1;
	struct stack stack;

	(void)state;
	assert_non_null(chain);
	assert_int_equal(place(&f, f.mapping_a, 0x1010, "x"), 0);
	assert_int_equal(profile_add_sample(f.p, chain, SHAPE_FRAMES_MAX + 5, &value, NULL, 0), 0);
	assert_int_equal(shape_new(&s, &o, NULL), SHAPE_E_OK);
	assert_int_equal(shape_bind(s, f.p), 0);
	assert_int_equal(shape_profile_new(&to, s, f.p), 0);
	assert_int_equal(shape_stack(s, f.p, 0, &stack), SHAPE_E_OK);
	assert_int_equal(shape_profile_add(to, &stack), 0);
	assert_int_equal(shape_profile_finish(to, &left), 0);
	assert_int_equal(left->samples[0].n_locations, SHAPE_FRAMES_MAX);
	end(&f);
}

static void test_everything_is_taken(void **state)
{
	cleanup(profile_freep) struct profile *left = NULL;
	struct fixture f = full();

	(void)state;
	LEFT(&f, &left,
	     "1010!a@a.c:1<1010!b@b.c:2 101010!c@c.c:3 2000!main@m.c:9=5 user\n"
	     "101020![" PATH_B "] 2000!main@m.c:9=3\n"
	     "77!unused@u.c:1 2000!main@m.c:9=4\n",
	     .trim_path = "/not/in/profiles");
	assert_int_equal(left->time_ns, 1000);
	assert_int_equal(left->duration_ns, 2000);
	assert_int_equal(left->period, 3);
	assert_string_equal(profile_string(left, left->period_type.type), "samples");
	assert_string_equal(profile_string(left, left->default_sample_type), "samples");
	assert_string_equal(profile_string(left, left->drop_frames), "malloc");
	assert_int_equal(left->n_comments, 1);
	assert_string_equal(profile_string(left, left->mappings[0].path), PATH_A);
	assert_string_equal(profile_string(left, left->mappings[0].build_id), "aa");
	assert_int_equal(left->mappings[1].start, 0x101000);
	assert_int_equal(left->functions[0].start_line, 7);
	end(&f);
}

static void test_what_filters_leave(void **state)
{
	cleanup(profile_freep) struct profile *left = NULL, *hidden = NULL, *labels = NULL;
	struct fixture f = full();

	(void)state;
	LEFT(&f, &left, "101010!c@c.c:3=5 user\n101020![" PATH_B "]=3\n", .focus = "libb",
	     .hide = "bin");
	assert_int_equal(left->n_functions, 1);
	assert_int_equal(left->n_locations, 2);
	assert_int_equal(left->n_mappings, 2); /* the program's stays the first */
	/* What filters make equal stays several, as in pprof. */
	LEFT(&f, &hidden, "2000!main@m.c:9=5\n2000!main@m.c:9=3\n2000!main@m.c:9=4\n",
	     .prune_from = "main", .tagshow = "x", .show = "main");
	assert_int_equal(hidden->n_samples, 3);
	LEFT(&f, &labels, "1010!b@b.c:2 101010!c@c.c:3 2000!main@m.c:9 io@user=5\n",
	     .tagroot = "user", .hide = "^a$", .taghide = "user", .tagfocus = "io");
	end(&f);
}

static void test_nothing_is_left(void **state)
{
	cleanup(profile_freep) struct profile *left = NULL;
	struct fixture f = full();

	(void)state;
	LEFT(&f, &left, "", .focus = "nothing");
	assert_int_equal(left->n_samples, 0);
	assert_int_equal(left->n_mappings, 1);
	end(&f);
}

/* --- bit by bit ------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static struct fixture many_samples(void)
{
	struct fixture f = begin();
	uint32_t places[40], chain[12], state = 3;
	char lines[40];

	for (uint32_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(lines, sizeof(lines), i % 3 ? "f%u@x.c:%u" : "f%u@x.c:%u,g@y.c", i % 17,
			 i);
		places[i] = place(&f, i % 2 ? f.mapping_a : f.mapping_b, 0x1000 + i, lines);
	}
	for (int64_t i = 0; i < 3000; i++) {
		uint32_t n = 1 + next_random(&state) % ARRAY_SIZE(chain);
		struct profile_label labels[] = {text_label(&f, "user", i % 5 ? "io" : "net"),
						 number_label(&f, "size", i % 100, "bytes")};

		for (uint32_t j = 0; j < n; j++)
			chain[j] = places[next_random(&state) % ARRAY_SIZE(places)];
		assert_int_equal(profile_add_sample(f.p, chain, n, &i, labels, 2), 0);
	}
	return f;
}

/* Feeds all of @data, and has the samples that each piece brings shaped and cleared. */
static void feed(struct pprof_reader *reader, const uint8_t *data, size_t n, struct shape *s,
		 FILE *out)
{
	struct profile_message message;
	bool done = false;

	for (size_t i = 0; i < n; i += 999) {
		struct profile *p;

		assert_int_equal(pprof_reader_feed(reader, data + i, n - i < 999 ? n - i : 999,
						   &message),
				 0);
		if (!s)
			continue;
		p = pprof_reader_profile(reader);
		assert_int_equal(shape_bind(s, p), 0);
		for (size_t j = 0; j < p->n_samples; j++) {
			struct stack stack;

			if (shape_stack(s, p, j, &stack) == SHAPE_E_OK)
				put_stack(out, s, p, &stack);
		}
		profile_clear_samples(p);
	}
	while (!done)
		assert_int_equal(pprof_reader_end(reader, &done, &message), 0);
}

static void test_bit_by_bit(void **state)
{
	const struct shape_options o = {.ignore = "^f1$",
					.hide = "^g$",
					.tagroot = "user,size",
					.show_from = "^f[0-9]$",
					.taghide = "user",
					.tagfocus = "size=10b:90b",
					.granularity = SHAPE_LINES};
	cleanup(pprof_reader_freep) struct pprof_reader *reader = NULL;
	cleanup(shape_freep) struct shape *s = NULL;
	cleanup(freep) char *got = NULL, *warnings = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct fixture f = many_samples();
	size_t n, length;
	FILE *out;

	(void)state;
	assert_int_equal(pprof_write(f.p, 1, &data, &n), 0);
	assert_int_equal(pprof_reader_new(&reader, 1 << 24), 0);
	assert_int_equal(shape_new(&s, &o, NULL), SHAPE_E_OK);
	out = open_memstream(&got, &length);
	assert_non_null(out);
	feed(reader, data, n, NULL, NULL);
	feed(reader, data, n, s, out);
	assert_int_equal(shape_warnings(s, &warnings), 0);
	fputs(warnings, out);
	assert_int_equal(fclose(out), 0);
	assert_true(length > 10000);
	check(&f, &o, got);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_everything_is_taken),
		cmocka_unit_test(test_what_filters_leave),
		cmocka_unit_test(test_nothing_is_left),
		cmocka_unit_test(test_bit_by_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
