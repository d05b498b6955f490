/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_SIGNAL_FRAMES_H
#define PROFD_REPORT_SIGNAL_FRAMES_H

/*
 * google-pprof's guess at what profilers' own signal handlers left in the stacks of a legacy
 * profile: frames of some names, and any second frame that all samples share, as long as there is
 * one. It is wrong for a program that spends its time below one call, and therefore off.
 */
#include "client/report/listener.h"
#include "common/profile/profile.h"

/*
 * Takes them out of the samples of @p, which have their names, and notes which second frames went,
 * or of many the first ones. 0 or negative errno.
 */
int signal_frames_drop(struct profile *p, const struct listener *listener);

#endif
