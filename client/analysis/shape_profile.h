/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_SHAPE_PROFILE_H
#define PROFD_CLIENT_ANALYSIS_SHAPE_PROFILE_H

/*
 * A new profile of the samples that are left by a struct shape, with the frames that are left of
 * them, for formats that hold profiles: what pprof writes with -proto. It has addresses and all
 * lines of what is left (see no_inlines), whatever the shape's granularity; frames made of labels
 * are locations without an address. Equal samples become one. It refers to nothing that no sample
 * needs, but for the first mapping, which is the program by convention. Pure.
 */
#include "client/analysis/shape.h"

struct shape_profile;

/* @s and @p are borrowed for its life. 0 or negative errno. */
int shape_profile_new(struct shape_profile **ret, const struct shape *s, const struct profile *p);
void shape_profile_free(struct shape_profile *to);
DEFINE_CLEANUP(struct shape_profile *, shape_profile_free)

/* Adds the stack that shape_stack() has just returned. 0 or negative errno. */
int shape_profile_add(struct shape_profile *to, const struct stack *stack);
/*
 * All samples have been added: takes the times and comments over, which may have come last. The
 * profile is the caller's then. 0 or negative errno.
 */
int shape_profile_finish(struct shape_profile *to, struct profile **ret);

#endif
