/* SPDX-License-Identifier: MIT */
/*
 * Each test is a profile and what some options make of its stacks, as text: `a<b c=5` is function
 * a, inlined into b, called by c, with value 5. The expected texts are what go tool pprof (1.19)
 * does, read off its -traces and -raw; tests/integration/shape-pprof asks it itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/shape.h"

#define PATH_A "/usr/bin/a"
#define PATH_B "/usr/lib/libb.so"

struct fixture {
	struct profile *p;
	uint32_t mapping_a, mapping_b;
};

static uint32_t text(struct profile *p, const char *t)
{
	uint32_t ret;

	assert_int_equal(profile_add_text(p, t, &ret), 0);
	return ret;
}

static struct fixture begin(void)
{
	struct fixture f = {0};
	struct profile_mapping m = {.start = 0x1000, .limit = 0x9000};

	assert_int_equal(profile_new(&f.p), 0);
	assert_int_equal(profile_add_sample_type(f.p, "samples", "count"), 0);
	m.path = text(f.p, PATH_A);
	m.build_id = text(f.p, "aa");
	assert_int_equal(profile_add_mapping(f.p, &m, &f.mapping_a), 0);
	m.start += 0x100000;
	m.limit += 0x100000;
	m.path = text(f.p, PATH_B);
	assert_int_equal(profile_add_mapping(f.p, &m, &f.mapping_b), 0);
	return f;
}

/* @lines: NAME or NAME@FILE or NAME@FILE:LINE, innermost first, with commas; "": unsymbolized. */
static uint32_t place(struct fixture *f, uint32_t mapping, uint64_t address, const char *lines)
{
	struct profile_line all[8];
	char copy[400], *rest, *one;
	uint32_t n = 0, ret;

	snprintf(copy, sizeof(copy), "%s", lines);
	for (one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		struct profile_function function = {.start_line = 7};
		char *file = strchr(one, '@'), *line = strrchr(one, ':');

		if (file)
			*file++ = '\0';
		if (file && line)
			*line++ = '\0';
		function.name = function.system_name = text(f->p, strcmp(one, "-") ? one : "");
		function.filename = text(f->p, file ? file : "");
		assert_int_equal(profile_add_function(f->p, &function, &all[n].function), 0);
		all[n++].line = file && line ? atoi(line) : 0;
	}
	assert_int_equal(profile_add_location(f->p, mapping, address, all, n, &ret), 0);
	return ret;
}

static struct profile_label text_label(struct fixture *f, const char *key, const char *value)
{
	return (struct profile_label){.key = text(f->p, key), .str = text(f->p, value)};
}

static struct profile_label number_label(struct fixture *f, const char *key, int64_t number,
					 const char *unit)
{
	return (struct profile_label){.key = text(f->p, key),
				      .num = number,
				      .num_unit = text(f->p, unit)};
}

/* Leaf first. */
static void sample(struct fixture *f, int64_t value, const struct profile_label *labels,
		   uint32_t n_labels, unsigned n, ...)
{
	uint32_t chain[16];
	va_list places;

	va_start(places, n);
	for (unsigned i = 0; i < n; i++)
		chain[i] = va_arg(places, uint32_t);
	va_end(places);
	assert_int_equal(profile_add_sample(f->p, chain, n, &value, labels, n_labels), 0);
}

static void put_frame(FILE *out, const struct profile *p, const struct frame *f)
{
	if (f->address)
		fprintf(out, "%" PRIx64 "!", f->address);
	fputs(profile_string(p, f->name), out);
	if (f->filename)
		fprintf(out, "@%s", profile_string(p, f->filename));
	if (f->line)
		fprintf(out, ":%" PRId64, f->line);
	if (f->object)
		fprintf(out, "[%s]", profile_string(p, f->object));
	if (f->start_line)
		fprintf(out, "#%" PRId64, f->start_line);
	if (f->build_id)
		fprintf(out, "{%s}", profile_string(p, f->build_id));
}

static void put_stack(FILE *out, const struct shape *s, const struct profile *p,
		      const struct stack *stack)
{
	size_t n;
	const struct frame *frames = shape_frames(s, &n);

	for (uint32_t i = 0; i < stack->n_frames; i++) {
		assert_true(stack->frames[i] < n);
		if (i)
			fputc(stack->is_inlined[i - 1] ? '<' : ' ', out);
		put_frame(out, p, &frames[stack->frames[i]]);
	}
	assert_false(stack->is_inlined[stack->n_frames - 1]);
	fprintf(out, "=%" PRId64, stack->values[0]);
	for (uint32_t i = 0; i < stack->n_labels; i++)
		fprintf(out, " %s", profile_string(p, stack->labels[i].key));
	fputc('\n', out);
}

/* All stacks, a line each; then the warnings. */
static void check(struct fixture *f, const struct shape_options *o, const char *expected)
{
	cleanup(shape_freep) struct shape *s = NULL;
	cleanup(freep) char *got = NULL, *warnings = NULL;
	struct profile_message message = {""};
	size_t length;
	FILE *out = open_memstream(&got, &length);

	assert_non_null(out);
	assert_int_equal(shape_new(&s, o, &message), SHAPE_E_OK);
	assert_int_equal(shape_bind(s, f->p), 0);
	for (size_t i = 0; i < f->p->n_samples; i++) {
		struct stack stack;
		int r = shape_stack(s, f->p, i, &stack);

		assert_true(r == SHAPE_E_OK || r == SHAPE_E_DROPPED);
		if (r == SHAPE_E_OK)
			put_stack(out, s, f->p, &stack);
	}
	assert_int_equal(shape_warnings(s, &warnings), 0);
	fputs(warnings, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, expected);
}

#define CHECK(f, expected, ...) check(f, &(const struct shape_options){__VA_ARGS__}, expected)

static void end(struct fixture *f)
{
	profile_free(f->p);
}

/* --- granularity ------------------------------------------------------------------------------ */

/* One sample each of places that some granularities tell apart. */
static struct fixture many_places(void)
{
	struct fixture f = begin();
	uint32_t root = place(&f, f.mapping_a, 0x2000, "main@/src/./main.c:3");

	sample(&f, 1, NULL, 0, 2, place(&f, f.mapping_a, 0x1010, "x@/src/x.c:1,y@/src/y.c:2"),
	       root);
	sample(&f, 2, NULL, 0, 2, place(&f, f.mapping_b, 0x101010, "x@/src/lib/../x.c:9"), root);
	sample(&f, 4, NULL, 0, 2, place(&f, f.mapping_b, 0x101020, ""), root);
	sample(&f, 8, NULL, 0, 2, place(&f, f.mapping_b, 0x101030, ""), root);
	sample(&f, 16, NULL, 0, 2, place(&f, PROFILE_NONE, 0x77, ""), root);
	sample(&f, 32, NULL, 0, 2, place(&f, f.mapping_b, 0x101040, "-@/src/n.c:4"), root);
	return f;
}

static void test_functions(void **state)
{
	struct fixture f = many_places();

	(void)state;
	CHECK(&f, "x<y main=1\nx main=2\n[" PATH_B "] main=4\n[" PATH_B "] main=8\n main=16\n"
		  "[" PATH_B "]#7 main=32\n");
	CHECK(&f,
	      "y main=1\nx main=2\n[" PATH_B "] main=4\n[" PATH_B "] main=8\n main=16\n"
	      "[" PATH_B "]#7 main=32\n",
	      .no_inlines = true);
	CHECK(&f,
	      "x<y main=1\nx main=2\n101020![" PATH_B "] main=4\n101030![" PATH_B "] main=8\n"
	      "77! main=16\n101040![" PATH_B "]#7 main=32\n",
	      .nameless_addresses = true);
	CHECK(&f,
	      "x[" PATH_A "]#7{aa}<y[" PATH_A "]#7{aa} main[" PATH_A "]#7{aa}=1\n"
	      "x[" PATH_B "]#7{aa} main[" PATH_A "]#7{aa}=2\n"
	      "[" PATH_B "]{aa} main[" PATH_A "]#7{aa}=4\n"
	      "[" PATH_B "]{aa} main[" PATH_A "]#7{aa}=8\n"
	      " main[" PATH_A "]#7{aa}=16\n"
	      "[" PATH_B "]#7{aa} main[" PATH_A "]#7{aa}=32\n",
	      .with_objects = true);
	end(&f);
}

static void test_finer(void **state)
{
	struct fixture f = many_places();

	(void)state;
	CHECK(&f,
	      "x@/src/x.c<y@/src/y.c main@/src/main.c=1\nx@/src/x.c main@/src/main.c=2\n"
	      "[" PATH_B "] main@/src/main.c=4\n[" PATH_B "] main@/src/main.c=8\n"
	      " main@/src/main.c=16\n@/src/n.c[" PATH_B "]#7 main@/src/main.c=32\n",
	      .granularity = SHAPE_FILEFUNCTIONS);
	CHECK(&f,
	      "x@x.c:1<y@y.c:2 main@main.c:3=1\nx@x.c:9 main@main.c:3=2\n"
	      "[" PATH_B "] main@main.c:3=4\n[" PATH_B "] main@main.c:3=8\n"
	      " main@main.c:3=16\n@n.c:4[" PATH_B "]#7 main@main.c:3=32\n",
	      .granularity = SHAPE_LINES, .trim_path = "/elsewhere:/src");
	CHECK(&f,
	      "@/src/x.c[" PATH_A "]#7<@/src/y.c[" PATH_A "]#7 @/src/main.c[" PATH_A "]#7=1\n"
	      "@/src/x.c[" PATH_B "]#7 @/src/main.c[" PATH_A "]#7=2\n"
	      "[" PATH_B "] @/src/main.c[" PATH_A "]#7=4\n"
	      "[" PATH_B "] @/src/main.c[" PATH_A "]#7=8\n"
	      " @/src/main.c[" PATH_A "]#7=16\n"
	      "@/src/n.c[" PATH_B "]#7 @/src/main.c[" PATH_A "]#7=32\n",
	      .granularity = SHAPE_FILES);
	CHECK(&f,
	      "1010!x@/src/x.c:1<1010!y@/src/y.c:2 2000!main@/src/main.c:3=1\n"
	      "101010!x@/src/x.c:9 2000!main@/src/main.c:3=2\n"
	      "101020![" PATH_B "] 2000!main@/src/main.c:3=4\n"
	      "101030![" PATH_B "] 2000!main@/src/main.c:3=8\n"
	      "77! 2000!main@/src/main.c:3=16\n"
	      "101040!@/src/n.c:4[" PATH_B "]#7 2000!main@/src/main.c:3=32\n",
	      .granularity = SHAPE_ADDRESSES);
	end(&f);
}

/* Frames are equal where the granularity says so, and numbered once. */
static void test_frames_are_interned(void **state)
{
	const struct shape_options o = {0};
	cleanup(shape_freep) struct shape *s = NULL;
	struct fixture f = begin();
	struct stack stack;
	uint32_t first;
	size_t n;

	(void)state;
	sample(&f, 1, NULL, 0, 1, place(&f, f.mapping_a, 0x1001, "x@a.c:1"));
	sample(&f, 1, NULL, 0, 1, place(&f, f.mapping_b, 0x101002, "x@b.c:2"));
	assert_int_equal(shape_new(&s, &o, NULL), SHAPE_E_OK);
	assert_int_equal(shape_bind(s, f.p), 0);
	assert_int_equal(shape_stack(s, f.p, 0, &stack), SHAPE_E_OK);
	first = stack.frames[0];
	assert_int_equal(shape_stack(s, f.p, 1, &stack), SHAPE_E_OK);
	assert_int_equal(stack.frames[0], first);
	shape_frames(s, &n);
	assert_int_equal(n, 1);
	/* The profile grows; what it had keeps its numbers. */
	sample(&f, 1, NULL, 0, 2, place(&f, f.mapping_b, 0x101003, "z"),
	       place(&f, f.mapping_b, 0x101004, "x"));
	assert_int_equal(shape_stack(s, f.p, 2, &stack), -EINVAL);
	assert_int_equal(shape_bind(s, f.p), 0);
	assert_int_equal(shape_stack(s, f.p, 2, &stack), SHAPE_E_OK);
	assert_int_equal(stack.n_frames, 2);
	assert_int_equal(stack.frames[1], first);
	assert_true(shape_bytes(s) > sizeof(struct frame));
	end(&f);
}

/* --- samples that are none -------------------------------------------------------------------- */

static void test_empty_samples(void **state)
{
	struct fixture f = begin();

	(void)state;
	sample(&f, 0, NULL, 0, 1, place(&f, f.mapping_a, 0x1001, "zero"));
	sample(&f, 5, NULL, 0, 0);
	sample(&f, -3, NULL, 0, 1, place(&f, f.mapping_a, 0x1002, "negative"));
	CHECK(&f, "negative=-3\n");
	CHECK(&f, "negative=-3\nIgnore expression matched no samples\n", .ignore = "zero");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_finer),
		cmocka_unit_test(test_frames_are_interned),
		cmocka_unit_test(test_empty_samples),
	};

	(void)text_label;
	(void)number_label;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
