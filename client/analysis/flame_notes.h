/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FLAME_NOTES_H
#define PROFD_CLIENT_ANALYSIS_FLAME_NOTES_H

/*
 * What a profile says of itself, for people: which program, when, on which host, what was lost. It
 * is made of the profile's own fields and of the comments that profd writes, "# profd name: value",
 * whose names become headings; one that several files say differently has all their values. What
 * others wrote stands as it is, but for a '#' in front.
 */
#include <stdio.h>

struct view_input;

/* Writes "notes":[["Heading","text"],...], "" for no heading. 0 or negative errno. */
int flame_notes_write(const struct view_input *input, FILE *out);

#endif
