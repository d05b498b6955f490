/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_WALL_H
#define PROFD_CLIENT_ANALYSIS_WALL_H

/*
 * Wall-clock time: the sample type `wall`, the sum of cpu and off_cpu. No stored profile has it; it
 * is added to a profile that was read, for a report. It is the last of the profile's types, and
 * never its default: call profile_default_type() first. A type of that name that the profile
 * already has is not replaced. Pure.
 */
#include <stdbool.h>

struct profile;
struct profile_message;

#define WALL_TYPE     "wall"
#define WALL_CPU_TYPE "cpu"
#define WALL_OFF_TYPE "off_cpu"

enum {
	WALL_E_OK,
	WALL_E_MISSING, /* see the message: the profile has not both of its parts */
};

/* Whether wall_add() would succeed. */
bool wall_is_possible(const struct profile *p);
/* Adds the type, once. WALL_E_* or negative errno. @message NULL: nobody asks. */
int wall_add(struct profile *p, struct profile_message *message);
/* Takes it off again, of a profile that wall_add() has changed. */
void wall_remove(struct profile *p);

#endif
