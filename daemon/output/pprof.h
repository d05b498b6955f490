/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_PPROF_H
#define PROFD_OUTPUT_PPROF_H

/*
 * A service's or a process's part of a snapshot as a struct profile, ready for pprof_write(): every
 * sample with user and kernel frames, named as far as names are wanted and known.
 */
#include "common/profile/profile.h"
#include "daemon/output/context.h"
#include "daemon/output/view.h"

/* Returns 0 or negative errno. */
int output_pprof(const struct context *c, const struct view *view, const struct view_group *group,
		 enum symbolize symbolize, struct profile **ret);

#endif
