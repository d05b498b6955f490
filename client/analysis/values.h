/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_VALUES_H
#define PROFD_CLIENT_ANALYSIS_VALUES_H

/* How a report prints values: in which unit, and divided by what the user said. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/profile/measure.h" /* MEASURE_TEXT_MAX */

struct graph_node;
struct profile;
struct view;
struct view_input;
struct view_options;

struct values {
	const char *unit; /* the profile's */
	const char *to;   /* what is printed */
	double factor;
};

/* Each value by itself, in the unit that the options name. */
void values_init(struct values *v, const struct view_input *input,
		 const struct view_options *options);
/*
 * All of @view's graph in one unit, unless its options name one: the one that suits what is
 * smallest in it. @whole: values are printed as whole numbers, so nothing may become a fraction.
 */
void values_init_for(struct values *v, const struct view *view, const struct view_input *input,
		     bool whole);

/* Fills @buffer (MEASURE_TEXT_MAX), and returns it. */
const char *values_print(const struct values *v, char *buffer, int64_t value);
/* @value divided by what the user said. */
int64_t values_divide(const struct values *v, int64_t value);
/* The integer that @x begins with, clamped to -INT64_MAX .. INT64_MAX. */
int64_t values_clamp(double x);
/* The share of @total as measure_print_percentage() has it, without blanks in front. */
const char *values_print_share(char *buffer, int64_t value, int64_t total);

/* A value and its share of @total, in a table. */
struct values_column {
	char value[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX];
};

void values_column(const struct values *v, struct values_column *ret, int64_t value, int64_t total);

/*
 * A node's columns: flat with its share, the share of *@sum, to which flat is added, cum with its
 * share. Shares are of @total.
 */
void values_print_node(FILE *out, const struct values *v, const struct graph_node *node,
		       int64_t *sum, int64_t total);

/* A profile's name for what is told: "cpu", with means "mean_cpu". In @buffer, which is returned.
 */
const char *values_type(const struct view_input *input, char *buffer, size_t size);

/*
 * What stands above a report: pprof's lines of which program, what was measured, when and for how
 * long, what is shown of it and what was left out; and, where profd tells it, what of the samples
 * was lost. Texts of the profile have no control characters in it.
 */
/* All of them: 0 or negative errno; errors of @out stay in the stream. */

/* A line, if profd wrote it: what was lost of all that ran at the time, whoever's it was, and how
 * many stacks of what is shown have no root. */
int header_print_losses(FILE *out, const struct view_input *input);
/* A line, if what profd wrote has so few samples that shares are rough. */
void header_print_few(FILE *out, const struct view_input *input);
/* The profile alone. */
int header_print_profile(FILE *out, const struct view_input *input, const struct values *values);
/* The profile, unless the view's options want no header, and what of it the view's graph shows. */
int header_print_graph(FILE *out, const struct view *view, const struct view_input *input,
		       const struct values *values);

#endif
