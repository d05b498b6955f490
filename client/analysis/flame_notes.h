/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FLAME_NOTES_H
#define PROFD_CLIENT_ANALYSIS_FLAME_NOTES_H

/* What a profile says of itself, for people, as the data of a flame graph has it. */
#include <stdio.h>

struct view_input;

/* Writes [["Heading","text"],...], "" for no heading. 0 or negative errno. */
int flame_notes_write(const struct view_input *input, FILE *out);

#endif
