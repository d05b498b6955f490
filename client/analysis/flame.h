/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FLAME_H
#define PROFD_CLIENT_ANALYSIS_FLAME_H

/* What the page of a flame graph is made of, beside flame.c's data. */
#include <stddef.h>
#include <stdio.h>

struct view_input;

/* The page around its data, which is JSON: flame/, as embed.cmake puts it together when profd is
 * built. Bytes, no NUL at the end. */
extern const unsigned char flame_page_head[], flame_page_tail[];
extern const size_t flame_page_head_length, flame_page_tail_length;

/*
 * What a profile says of itself, for people: which program, when, on which host, what was lost. It
 * is made of the profile's own fields and of the comments that profd writes, "# profd name: value",
 * whose names become headings, once for each value that files have. What others wrote stands as it
 * is, but for a '#' in front.
 *
 * Writes "notes":[["Heading","text"],...], "" for no heading. 0 or negative errno.
 */
int flame_notes_write(const struct view_input *input, FILE *out);

#endif
