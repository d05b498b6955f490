/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_TELLING_H
#define PROFD_PROFCTL_TELLING_H

/* What a load of profiles, and a report of it, show the user while they go on, and at their end. */
#include "client/profctl/profctl.h"
#include "client/profctl/progress.h"
#include "client/report/listener.h"

struct profile_message;

struct telling {
	const struct context *context;
	struct progress progress;
};

/* @ret is not to be moved. */
struct listener telling_init(struct telling *ret, const struct context *context);
/* Of REPORT_E_* or negative errno: after a complaint, unless it is 0. */
int report_exit_status(const struct context *context, int r, const struct profile_message *message);

#endif
