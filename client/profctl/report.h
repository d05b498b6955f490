/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_REPORT_H
#define PROFD_PROFCTL_REPORT_H

#include "client/profctl/profctl.h"

struct listener;
struct load;
struct report_options;

/*
 * One report of what was loaded, to where @o says: a file appears whole, or not at all. Returns the
 * exit status, after a line to the user if that is not 0.
 */
int report_once(struct context *context, const struct listener *listener, struct load *l,
		const struct report_options *o);

#endif
