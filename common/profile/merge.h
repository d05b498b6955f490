/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_MERGE_H
#define PROFD_COMMON_PROFILE_MERGE_H

/*
 * Several profiles become one, as pprof's own merge does it: mappings of one build id (without one:
 * of one path), equal in offset and size but for what pages round, are one mapping, and addresses
 * move with it; equal locations, functions and samples are one; values add up, in the finest unit
 * that any of the profiles has (value_types.h). Other than in pprof, profiles of profd with waits
 * and without become one with waits. Only what samples refer to is taken over.
 *
 * Of times and comments: the earliest time, the longest period, the sum of all windows' durations
 * (see windows.h; of other profiles the sum of theirs), comments without repeats, and one ledger
 * line for all windows.
 *
 * A part of a profile can be taken: see struct merge_select. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/pprof.h" /* struct profile_message */
#include "common/profile/profile.h"

enum {
	MERGE_E_OK,
	/* Other sample types or another period type, in more than their units: see the message. */
	MERGE_E_MISMATCH,
	MERGE_E_NOTHING, /* no window of it is selected */
};

/* What becomes of the label `window`. */
enum merge_windows {
	MERGE_WINDOWS_KEPT,
	/* Samples that lack it get it: their profile's start. The comments then list the windows,
	 * so that a part of them can be taken later. */
	MERGE_WINDOWS_SET,
	MERGE_WINDOWS_DROPPED, /* samples of different windows become one */
};

/* All zero: everything. */
struct merge_select {
	uint64_t since_ns, until_ns; /* windows that overlap it; Unix time, 0: no bound */
	uint64_t not_before_s;       /* windows that begin then or later */
	bool has_pid;                /* only samples whose label `pid` is @pid */
	/* What who may only see one process may have: no kernel addresses, and nothing of what
	 * other processes did, which is in the label `waker`. */
	bool is_restricted;
	int64_t pid;
};

struct merge;

int merge_new(struct merge **ret, enum merge_windows windows);
void merge_free(struct merge *m);
DEFINE_CLEANUP(struct merge *, merge_free)

/*
 * Profiles need not have the same types of values from now on: those that not all of them have are
 * left out, as in pprof. MERGE_E_MISMATCH is that there are no others.
 */
void merge_use_common_types(struct merge *m);
/*
 * The types of values stay what they are from now on: a writer has them already. What
 * would need more is a mismatch.
 */
void merge_fix_types(struct merge *m);
/*
 * Has waits and latency among the types from now on, unless what is there already cannot have them.
 * Something must have been added, or begun. 0 or negative errno.
 */
int merge_add_optional_types(struct merge *m);
/* Samples keep their times from now on (sample_times.h), which are forgotten otherwise. */
void merge_keep_times(struct merge *m);
/*
 * Windows that overlap, as those of other tools may, have a line for when the last one ended
 * (windows.h), which pprof's merge does not add. Before the first merge_add().
 */
void merge_note_overlap(struct merge *m);

/*
 * Adds what @select (NULL: everything) takes of @from; what is there already changes its units if
 * need be. On MERGE_E_MISMATCH nothing is added;
 * MERGE_E_NOTHING is none of its outcomes. *ret_samples (may be NULL): the first value of what was
 * added. MERGE_E_* or negative errno, after which the merge is of no use.
 */
int merge_add(struct merge *m, const struct profile *from, const struct merge_select *select,
	      int64_t *ret_samples, struct profile_message *message);

/*
 * The same bit by bit, for a profile whose samples come bit by bit, or are many: merge_begin(),
 * then merge_samples() for those that it has at that time, from the @first on at most @n of them,
 * then merge_end(). @from, but for its samples, and @select are borrowed until then; what
 * merge_begin() refuses is not to be gone on with. Before merge_end(), nothing is known of the
 * windows and times of @from. merge_add() may not come in between; merge_abort() is the end of a
 * profile that cannot be read to its end, of which nothing else can be taken back.
 */
int merge_begin(struct merge *m, const struct profile *from, const struct merge_select *select,
		struct profile_message *message);
int merge_samples(struct merge *m, size_t first, size_t n, int64_t *ret_samples);
int merge_end(struct merge *m);
void merge_abort(struct merge *m);

/*
 * A profile that nothing is merged with stays what it is, as in pprof: equal samples stay several,
 * those of 0 and what no sample refers to stay, and no address moves. Its times and comments become
 * those of a merge of itself alone, with windows kept. Samples may come later. 0 or negative errno.
 */
int merge_single_profile(struct profile *p);

/* What there is by now, still to be added to: its samples may be cleared. NULL: nothing yet. */
struct profile *merge_profile(struct merge *m);
/* Heap memory held, bytes, nearly. */
size_t merge_bytes(const struct merge *m);
/* Windows that something was taken of. */
size_t merge_n_windows(const struct merge *m);
/*
 * Writes times and comments into the profile, which must be there; no more can be added. 0 or
 * negative errno.
 */
int merge_finish(struct merge *m);
/* Hands the profile over to the caller. */
struct profile *merge_steal_profile(struct merge *m);

#endif
