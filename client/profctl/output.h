/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_OUTPUT_H
#define PROFD_PROFCTL_OUTPUT_H

/* The one file that a verb writes a profile to: its format is what its name ends in. */
#include "client/profctl/arguments.h"
#include "client/profctl/profctl.h"
#include "common/profile/profile.h"

#define OUTPUT_DEFAULT "./profd.pb.gz"

enum run_format output_format(const char *path);
/*
 * Whether @path can be written, better known before than after hours. Returns 0, or @status after a
 * complaint.
 */
int output_check(const struct context *context, int status, const char *path);
/*
 * Writes @p to @path, whole or not at all; "-" is standard output. Returns 0, or @status after a
 * complaint.
 */
int output_save(const struct context *context, int status, const char *path, enum run_format format,
		const struct profile *p);

#endif
