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
 * Reads a command line. False: that is all there is to do, and *ret_status is the exit status,
 * after the help or a complaint. *ret is to be freed with report_arguments_deinit() in any case.
 */
bool report_begin(const struct context *context, int argc, char **argv,
		  struct report_arguments *ret, int *ret_status);
/* Loads @inputs, all at once. Returns the exit status, after a line to the user. */
struct load;
int report_load(struct context *context, const struct report_inputs *inputs, struct load **ret);
/* After a negative errno: the line to the user. Returns the exit status. */
int report_complain(const struct context *context, int error);

#endif
