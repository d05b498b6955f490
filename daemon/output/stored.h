/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_STORED_H
#define PROFD_OUTPUT_STORED_H

/*
 * A window's or an hour's .pb.gz, read from the store by bounded steps: each takes some
 * milliseconds, whatever the file holds. Its samples come last, a part with each step; a
 * caller that does not want to hold them all copies them and clears them from the profile.
 */
#include <stddef.h>

#include "common/cleanup.h"
#include "common/profile/profile.h"
#include "daemon/output/store.h"

enum {
	STORED_E_OK,      /* a step was done; call again */
	STORED_E_TABLES,  /* the profile is there, but for its samples; call again for these */
	STORED_E_DONE,    /* it is whole */
	STORED_E_DAMAGED, /* it cannot be read (any further) */
	STORED_E_GONE,    /* of stored_open(): there is none */
};

struct stored;

/*
 * Opens @path below @store. @max_bytes: bound for what samples refer to. STORED_E_OK, _DAMAGED,
 * _GONE or negative errno.
 */
int stored_open(struct stored **ret, const struct store *store, const char *path, size_t max_bytes);
void stored_free(struct stored *s);
DEFINE_CLEANUP(struct stored *, stored_free)
/* Before the first step: samples have their times, which they have not otherwise. */
void stored_want_times(struct stored *s);

/* STORED_E_* or negative errno. */
int stored_step(struct stored *s);
/* How many types of values were met by now: a file of ours begins with them. */
uint32_t stored_count_types(const struct stored *s);
/* Goes on to the end, holds no samples: what they add up to. STORED_E_DONE or the like. */
int stored_count_samples(struct stored *s, struct index_counts *ret);
/* What a profile adds up to: its first value, which is samples in those of profd; CPU time. */
struct index_counts stored_count_profile(const struct profile *profile);
/* Which value of a sample is its CPU time; false: none is. */
bool stored_find_cpu(const struct profile *profile, uint32_t *ret);
/* From STORED_E_TABLES on; goes with @s. */
struct profile *stored_profile(struct stored *s);

#endif
