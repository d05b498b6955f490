/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_NOTES_H
#define PROFD_SYMBOLIZE_NOTES_H

/*
 * What the user is to be told about files, a line each and each line once. Bounded: a profile may
 * name a million files that are not there. The texts hold what strangers wrote: print_safely().
 */
#include <stddef.h>

#define NOTES_MAX      40u
#define NOTES_TEXT_MAX 600u /* longer lines are cut */

struct notes {
	char *lines[NOTES_MAX];
	size_t n;
	size_t n_more; /* that were not kept, or for which there was no memory */
};

void notes_deinit(struct notes *notes);
void notes_add(struct notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For what is to be told whatever else there is. */
void notes_add_first(struct notes *notes, const char *text);

#endif
