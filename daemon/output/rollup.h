/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_ROLLUP_H
#define PROFD_OUTPUT_ROLLUP_H

/*
 * Windows that are old enough are merged into one file for each service and hour, named as a window
 * of 3600 seconds from the hour's beginning, in which every sample has the label `window`, and
 * comments list the windows (common/profile/windows.h). First the hour's file is there, durably,
 * then its minutes go. A profd that dies in between leaves both: at the next start the minutes that
 * the hour's file lists are removed, before anybody counts (rollup_recover.h).
 *
 * In the same way the hours of a day (UTC) that is old enough, and windows that were alone in
 * theirs, become one file of 86400 seconds. It says the same of each window, but what the samples
 * of all hours refer to is there once, which is most of an hour's file. An hour's file that is big
 * beside the memory stays as it is.
 *
 * An hour becomes several files of that name (".1", ".2" ...), each with some of its windows, where
 * what its samples refer to takes more than a given amount of memory; so does one that got another
 * window later, and one of several events. A window alone in its hour stays as it is, as does a
 * file that cannot be read.
 *
 * An hour that cannot be written waits, as do the others of its service, until there is nothing
 * else to roll up. Why is often the hour's own affair, a directory that nobody can write to, say:
 * so those that failed are tried again after pauses, each twice as long as the one before, from ten
 * minutes up to six hours. A clock that jumped back ends the waiting.
 *
 * A step takes some milliseconds, however big windows are, some tens where an hour's samples are
 * put in order, and what the disk takes at the end of an hour to write the last of its bytes: the
 * caller can do other work in between. Memory: the amount given, what one file's samples refer to,
 * and while samples are put in order another part of theirs.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/store.h"

enum {
	ROLLUP_E_OK,      /* a step was done; call again */
	ROLLUP_E_IDLE,    /* nothing is due */
	ROLLUP_E_DAMAGED, /* a step was done: a file cannot be read and stays, see rollup_path() */
};

struct rollup;

int rollup_new(struct rollup **ret, struct store *store, size_t max_bytes);
void rollup_free(struct rollup *r);
DEFINE_CLEANUP(struct rollup *, rollup_free)
/* Forgets what was begun; nothing is lost by it but time. */
void rollup_reset(struct rollup *r);
/* Heap memory held, bytes, nearly. */
size_t rollup_bytes(const struct rollup *r);

/*
 * Hours and days that ended by @until_s are due; it is @now_s (both Unix time). Returns ROLLUP_E_*
 * or negative errno: an hour could not be written, or its minutes not be removed. Why may be the
 * disk's affair as well as the hour's: better wait before the next step.
 */
int rollup_step(struct rollup *r, uint64_t until_s, uint64_t now_s);
/* The file that was found damaged or could not be written last, below the store. */
const char *rollup_path(const struct rollup *r);
/* Whether an hour waits because it could not be written. */
bool rollup_is_behind(const struct rollup *r);

#endif
