/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_HEADER_H
#define PROFD_CLIENT_ANALYSIS_HEADER_H

/*
 * What stands above a report: pprof's lines of which program, what was measured, when and for how
 * long, what is shown of it and what was left out; and, where profd tells it, what of the samples
 * was lost. Texts of the profile have no control characters in it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct profile;
struct values;
struct view;
struct view_input;

/* All of them: 0 or negative errno; errors of @out stay in the stream. */

/* What was lost, a line, if profd tells: its ledger is of all that ran at the time, not of this
 * profile alone. */
int header_print_losses(FILE *out, const struct profile *p);
/* As a header has it, local; false: it cannot be told. */
bool header_format_time(char *ret, size_t size, int64_t time_ns);
/* The profile alone. */
int header_print_profile(FILE *out, const struct view_input *input, const struct values *values);
/* The profile, unless the view's options want no header, and what of it the view's graph shows. */
int header_print_graph(FILE *out, const struct view *view, const struct view_input *input,
		       const struct values *values);

#endif
