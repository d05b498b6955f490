/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_ANALYSIS_SHAPE_FIXTURE_H
#define PROFD_TESTS_UNIT_ANALYSIS_SHAPE_FIXTURE_H

/*
 * A test is a profile and what some options make of its stacks, as text: `a<b c=5` is function a,
 * inlined into b, called by c, with value 5; the keys of labels that are left come behind it. The
 * expected texts are what google/pprof's head does: tests/integration/report-random asks it.
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

#include "client/analysis/shape.h"
#include "tests/unit/profile/text.h"

#define PATH_A "/usr/bin/a"
#define PATH_B "/usr/lib/libb.so"

struct fixture {
	struct profile *p;
	uint32_t mapping_a, mapping_b;
};

static inline struct fixture begin(void)
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
static inline uint32_t place(struct fixture *f, uint32_t mapping, uint64_t address,
			     const char *lines)
{
	struct profile_line all[8] = {0};
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

static inline struct profile_label text_label(struct fixture *f, const char *key, const char *value)
{
	return (struct profile_label){.key = text(f->p, key), .str = text(f->p, value)};
}

static inline struct profile_label number_label(struct fixture *f, const char *key, int64_t number,
						const char *unit)
{
	return (struct profile_label){.key = text(f->p, key),
				      .num = number,
				      .num_unit = text(f->p, unit)};
}

/* Leaf first. */
static inline void sample(struct fixture *f, int64_t value, const struct profile_label *labels,
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

static inline void put_frame(FILE *out, const struct profile *p, const struct frame *f)
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
}

static inline void put_stack(FILE *out, const struct shape *s, const struct profile *p,
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
	assert_true(!stack->n_frames || !stack->is_inlined[stack->n_frames - 1]);
	fprintf(out, "=%" PRId64, stack->values[0]);
	for (uint32_t i = 0; i < stack->n_labels; i++)
		fprintf(out, " %s", profile_string(p, stack->labels[i].key));
	fputc('\n', out);
}

/* All stacks, a line each; then the warnings. */
static inline void check(struct fixture *f, const struct shape_options *o, const char *expected)
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

static inline void end(struct fixture *f)
{
	profile_free(f->p);
}

#endif
