/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_RECORD_SAMPLES_H
#define PROFD_PROFCTL_RECORD_SAMPLES_H

/*
 * What was recorded by now. Samples are taken from a live session as they come, and merged here: so
 * profd holds no more than two windows of a recording, and no file, however long that is, and what
 * was taken is there whatever becomes of profd. How often is a matter of how much comes: more often
 * as soon as a window was full before it was taken.
 */
#include "client/profctl/held.h"
#include "common/profile/merge.h"

struct record_samples {
	struct merge *merge;
	uint64_t count;
	uint64_t lost;                /* that there were, and that profd cannot give any more */
	uint64_t interval_ns, due_ns; /* CLOCK_MONOTONIC: when to take again */
	char trouble[256]; /* a line without its end: why there is less than there might be */
};

/* Returns 0 or negative errno. */
int record_samples_init(struct record_samples *s);
/* Takes one that is all zero. */
void record_samples_deinit(struct record_samples *s);

/*
 * Takes what there is of @session; blocks as long as profd takes to answer. TAKE_E_* or
 * negative errno, and but for 0 what is the trouble.
 */
int record_samples_take(struct record_samples *s, const struct context *context, uint64_t session);
/* The same for the last of it, with patience: a session that has ended waits ten seconds. */
int record_samples_take_rest(struct record_samples *s, const struct context *context,
			     uint64_t session);

/*
 * All of it, the caller's. Without a sample it is a profile as it would be with some, of one of
 * @frequency (0: the usual one) that began at @start_ns (Unix time) and took @duration_ns. 0 or
 * negative errno.
 */
int record_samples_profile(struct record_samples *s, uint64_t frequency, uint64_t start_ns,
			   uint64_t duration_ns, struct profile **ret);

#endif
