/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_WINDOWS_H
#define PROFD_COMMON_PROFILE_WINDOWS_H

/*
 * The windows of time that a profile's samples are from, and each one's ledger. profd writes them
 * as comments:
 *
 *   # profd ledger: expected=5940 seen=5940 ...      of all samples of the file
 *   # profd window: <time_ns>+<duration_ns> <ledger> one for each window in a file of several
 *   # profd until: <time_ns>   when the last one ended, of several that leave some time out, or
 *                              overlap
 *
 * A file without window lines is one window, from time_ns on. The files of all services of one
 * window say the same of it: it is one window, which counts once. Legacy profiles do not show when
 * they begin; of them, those with the same ledger are of one window. What others wrote has no
 * ledger, and each file is a window of its own. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile.h"

#define WINDOWS_LABEL "window" /* num label of a sample: Unix seconds of its window's start */

struct profile_window {
	int64_t time_ns, duration_ns;
	char *ledger; /* owned; NULL: not profd's */
};

/* All zero is empty. */
struct profile_windows {
	struct profile_window *all; /* by time, then duration */
	size_t n, capacity;
	bool is_listed; /* by window lines: samples have labels that name theirs */
};

void profile_windows_deinit(struct profile_windows *windows);
/* Those of @p, in a list that is all zero or that the caller frees anyway. 0 or negative errno. */
int profile_windows_of(const struct profile *p, struct profile_windows *ret);
/*
 * Adds copies of those of @from that @which selects (one for each), unless they are there; which[i]
 * is then whether it was added. 0 or negative errno, after which windows may be missing.
 */
int profile_windows_merge(struct profile_windows *windows, const struct profile_windows *from,
			  bool *which);
/* Adds a line for each window to the comments of @p. 0 or negative errno. */
int profile_windows_list(const struct profile_windows *windows, struct profile *p);
/*
 * The window in the rest of a line, without its ledger: "<time_ns>+<duration_ns>". Returns the rest
 * behind it, NULL if it is none of ours.
 */
const char *profile_window_parse(const char *text, struct profile_window *ret);
/* When the last window of @p ended: Unix time, as far as it is known when it began. */
int64_t profile_until_ns(const struct profile *p);
/* Adds the line that says so, where it is not duration_ns after time_ns. 0 or negative errno. */
int profile_set_until(struct profile *p, int64_t until_ns);
/* Whether @comment is one of the lines above. */
bool profile_windows_is_line(const char *comment);

/*
 * Whether a window that begins at @start_s (Unix seconds) and lasts for @seconds overlaps the time
 * from @since_ns up to @until_ns; 0: no bound. Windows are distinguished by whole seconds, as their
 * files' names are.
 */
bool profile_window_overlaps(uint64_t start_s, uint64_t seconds, uint64_t since_ns,
			     uint64_t until_ns);
/*
 * How many seconds a window has, from the one in which it begins to its end, which is rounded: so
 * windows of a minute have 60, and less than half a second of any is in none. At least 1.
 */
uint64_t profile_window_seconds(uint64_t time_ns, uint64_t duration_ns);

/*
 * A window's ledger as one line of words; a word "name=number" is a count. Lines of several
 * windows become one: counts of one name are summed, other words are those of the newest line.
 * profd's lines have some forty words; of what a stranger says is one, 128 words and 4 KiB are
 * taken, so that each line costs no more than that. Counts stay below 10^19. Pure.
 *
 * Adds @line (NULL: nothing) to *sum (malloc'ed, NULL at first). 0 or negative errno.
 */
int ledger_line_add(char **sum, const char *line);

#endif
