/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_SPEEDSCOPE_H
#define PROFD_CLIENT_ANALYSIS_SPEEDSCOPE_H

/*
 * view_speedscope: speedscope's own JSON (https://www.speedscope.app/file-format-schema.json),
 * "sampled" profiles: one of all stacks and, where labels tell threads apart, one of each of the
 * SPEEDSCOPE_THREADS_MAX - 1 that came first, and one of all other threads. A thread is what has
 * its own labels pid, comm, thread and tid.
 *
 * Stacks are in no order of time, as profiles know of none: "Left Heavy" and "Sandwich" are what
 * to look at there. Values below zero cannot be told and are left out.
 */
#include "client/analysis/view.h"

#define SPEEDSCOPE_THREADS_MAX 64

extern const struct view_class view_speedscope;

#endif
