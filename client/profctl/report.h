/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_REPORT_H
#define PROFD_PROFCTL_REPORT_H

/* What `report`, `diff` and `convert` share. */
#include "client/profctl/profctl.h"
#include "client/report/options.h"

/*
 * Loads what @a names, and reports on it: asks for commands where nothing else is said and somebody
 * sits at a terminal. Returns the exit status, after a line to the user if that is not 0.
 */
int report_on(struct context *context, const struct report_arguments *a);
/*
 * What a verb does when report_parse() or report_parse_diff() returned @r instead of 0: prints its
 * help, or the complaint. Returns the exit status.
 */
int report_parse_ended(const struct context *context, int r, const struct profile_message *message);
/* Loads @inputs, all at once. Returns the exit status, after a line to the user. */
struct load;
int report_load(struct context *context, const struct report_inputs *inputs, struct load **ret);
/* After a negative errno: the line to the user. Returns the exit status. */
int report_complain(const struct context *context, int error);

#endif
