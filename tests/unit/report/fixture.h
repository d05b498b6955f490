/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_REPORT_FIXTURE_H
#define PROFD_TESTS_UNIT_REPORT_FIXTURE_H

/* Stacks by hand, and what views make of them. Include after cmocka.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/analysis/labels.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

#define FIXTURE_FRAMES_MAX 200u
#define FIXTURE_STACKS_MAX 100u
#define FIXTURE_LABELS_MAX 8u

struct fixture_stack {
	uint32_t *frames;
	uint8_t *is_inlined;
	uint32_t n_frames, n_labels;
	int64_t values[2];
	struct profile_label labels[FIXTURE_LABELS_MAX];
};

struct fixture {
	struct profile *p; /* types samples/count and cpu/nanoseconds */
	struct frame frames[FIXTURE_FRAMES_MAX];
	size_t n_frames;
	struct fixture_stack stacks[FIXTURE_STACKS_MAX];
	size_t n_stacks;
	struct label_units label_units;
	int64_t total;
	unsigned n_passes; /* of the last view */
};

static inline uint32_t fixture_text(struct fixture *f, const char *text)
{
	uint32_t string;

	assert_int_equal(profile_add_text(f->p, text, &string), 0);
	return string;
}

static inline int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(profile_new(&f->p), 0);
	assert_int_equal(profile_add_sample_type(f->p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(f->p, "cpu", "nanoseconds"), 0);
	*state = f;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->n_stacks; i++) {
		free(f->stacks[i].frames);
		free(f->stacks[i].is_inlined);
	}
	label_units_deinit(&f->label_units);
	profile_free(f->p);
	free(f);
	return 0;
}

/* The frame of this name, with nothing else to it. */
static inline uint32_t fixture_frame(struct fixture *f, const char *name)
{
	uint32_t string = fixture_text(f, name);
	size_t i = 0;

	while (i < f->n_frames && (f->frames[i].name != string || f->frames[i].line))
		i++;
	if (i == f->n_frames) {
		assert_true(f->n_frames < FIXTURE_FRAMES_MAX);
		f->frames[f->n_frames++].name = string;
	}
	return (uint32_t)i;
}

/* A stack of @n frames, which the caller fills. */
static inline struct fixture_stack *fixture_push(struct fixture *f, uint32_t n, int64_t value)
{
	struct fixture_stack *s = &f->stacks[f->n_stacks++];

	assert_true(f->n_stacks <= FIXTURE_STACKS_MAX);
	s->frames = calloc(n, sizeof(*s->frames));
	s->is_inlined = calloc(n, sizeof(*s->is_inlined));
	assert_non_null(s->frames);
	assert_non_null(s->is_inlined);
	s->n_frames = n;
	s->values[0] = s->values[1] = value;
	f->total += value < 0 ? -value : value;
	return s;
}

/* "root;caller;leaf" with a value; a frame whose name begins with '+' is inlined into its caller.
 */
static inline struct fixture_stack *fixture_stack(struct fixture *f, const char *names,
						  int64_t value)
{
	char text[1024], *rest = text;
	struct fixture_stack *s;
	uint32_t n = 1;

	assert_true(strlen(names) < sizeof(text));
	strcpy(text, names);
	for (const char *c = names; *c; c++)
		n += *c == ';';
	s = fixture_push(f, n, value);
	for (uint32_t i = n; i-- > 0;) {
		const char *name = strsep(&rest, ";");

		s->is_inlined[i] = *name == '+';
		s->frames[i] = fixture_frame(f, name + (*name == '+'));
	}
	return s;
}

static inline void fixture_label(struct fixture *f, struct fixture_stack *s, const char *key,
				 const char *text, int64_t number, const char *unit)
{
	struct profile_label *l = &s->labels[s->n_labels++];

	assert_true(s->n_labels <= FIXTURE_LABELS_MAX);
	l->key = fixture_text(f, key);
	l->str = text ? fixture_text(f, text) : 0;
	l->num = number;
	l->num_unit = unit ? fixture_text(f, unit) : 0;
}

/* What most of these tests are about. */
static inline void fixture_three(struct fixture *f)
{
	fixture_stack(f, "main;work;copy", 30);
	fixture_stack(f, "main;work", 50);
	fixture_stack(f, "main;+idle", 20);
}

/* As they are where nothing was said. */
static inline struct view_options fixture_options(void)
{
	struct view_options options;

	view_options_init(&options);
	return options;
}

/* The table alone. */
static inline struct view_options fixture_bare(void)
{
	struct view_options options = fixture_options();

	options.compact_labels = true;
	return options;
}

static inline struct view_input fixture_input(const struct fixture *f)
{
	return (struct view_input){.profile = f->p,
				   .frames = f->frames,
				   .n_frames = f->n_frames,
				   .total = f->total,
				   .label_units = &f->label_units};
}

static inline struct stack fixture_get(const struct fixture *f, size_t i)
{
	const struct fixture_stack *s = &f->stacks[i];

	return (struct stack){.frames = s->frames,
			      .is_inlined = s->is_inlined,
			      .n_frames = s->n_frames,
			      .values = s->values,
			      .labels = s->labels,
			      .n_labels = s->n_labels};
}

/* What the view writes, and how that ended; the caller frees it. */
static inline int fixture_try(struct fixture *f, const struct view_class *class,
			      const struct view_options *options, const struct view_input *input,
			      char **ret)
{
	cleanup(report_view_freep) struct view *view = NULL;
	struct profile_message message;
	struct view_options defaults;
	size_t length;
	FILE *out = open_memstream(ret, &length);
	int r;

	assert_non_null(out);
	view_options_init(&defaults);
	assert_int_equal(report_view_new(&view, class, options ? options : &defaults, &message), 0);
	f->n_passes = 0;
	do {
		for (size_t i = 0; i < f->n_stacks; i++) {
			struct stack stack = fixture_get(f, i);

			assert_int_equal(label_units_learn(&f->label_units, stack.labels,
							   stack.n_labels),
					 0);
			assert_int_equal(report_view_add(view, input, &stack), 0);
		}
		r = report_view_end(view, input, out);
		f->n_passes++;
	} while (r == VIEW_E_AGAIN);
	assert_int_equal(fclose(out), 0);
	return r;
}

/*
 * What it writes when all is well; the caller frees it. Not inlined: gcc would take the text for
 * the stream's pointer to it (-Wdangling-pointer).
 */
__attribute__((noinline, unused)) static char *fixture_show(struct fixture *f,
							    const struct view_class *class,
							    const struct view_options *options,
							    const struct view_input *input)
{
	char *text;

	assert_int_equal(fixture_try(f, class, options, input, &text), 0);
	return text;
}

static inline char *fixture_view(struct fixture *f, const struct view_class *class,
				 const struct view_options *options)
{
	struct view_input input = fixture_input(f);

	return fixture_show(f, class, options, &input);
}

static inline void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in:\n%s", part, text);
}

static inline size_t count_parts(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

#endif
