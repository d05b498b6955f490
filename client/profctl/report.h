/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_REPORT_H
#define PROFD_PROFCTL_REPORT_H

/* What `report` and `convert` share. */
#include "client/profctl/profctl.h"
#include "client/report/options.h"

/* Loads @inputs, all at once. Returns the exit status, after a line to the user. */
struct load;
int report_load(struct context *context, const struct report_inputs *inputs, struct load **ret);
/* After a negative errno: the line to the user. Returns the exit status. */
int report_complain(const struct context *context, int error);

#endif
