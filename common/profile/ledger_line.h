/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_LEDGER_LINE_H
#define PROFD_COMMON_PROFILE_LEDGER_LINE_H

/*
 * A window's ledger as one line of words; a word "name=number" is a count. Lines of several
 * windows become one: counts of one name are summed, other words are those of the newest line.
 * profd's lines have some forty words; of what a stranger says is one, 128 words and 4 KiB are
 * taken, so that each line costs no more than that. Counts stay below 10^19. Pure.
 */

/* Adds @line (NULL: nothing) to *sum (malloc'ed, NULL at first). 0 or negative errno. */
int ledger_line_add(char **sum, const char *line);

#endif
