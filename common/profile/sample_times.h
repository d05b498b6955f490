/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_SAMPLE_TIMES_H
#define PROFD_COMMON_PROFILE_SAMPLE_TIMES_H

/*
 * When the samples of a profile were counted: each sample has a list of buckets of time, with how
 * many of its count (its first value) are of that bucket. A bucket is 100 ms of Unix time or, where
 * that would have taken too much space, 2^scale of them. Where the buckets of a sample do not add
 * up to its count, for whatever reason, nothing is known of its times.
 *
 * Values that are changed afterwards leave the times as they are. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile.h"

#define PROFILE_BUCKET_NS  100000000
#define PROFILE_SCALE_MAX  15
#define PROFILE_BUCKET_MAX (UINT64_C(1) << 50) /* some millions of years */

/*
 * Counts @count of @sample in the bucket that @bucket is in: units of PROFILE_BUCKET_NS since 1970,
 * below PROFILE_BUCKET_MAX. 0 or negative errno.
 */
int profile_add_time(struct profile *p, uint32_t sample, uint64_t bucket, unsigned scale,
		     uint32_t count);
/* The index of the sample that the last profile_add_sample() or _append_sample() went into. */
uint32_t profile_last_sample(const struct profile *p);
/* Appends the times of a sample of @from to those of one of @to. 0 or negative errno. */
int profile_copy_times(struct profile *to, uint32_t to_sample, const struct profile *from,
		       uint32_t from_sample);
/* Whether the times of @sample are known. */
bool profile_knows_times(const struct profile *p, uint32_t sample);
/* Makes all buckets twice as long; not further than PROFILE_SCALE_MAX. */
void profile_coarsen_times(struct profile *p);
/* Forgets all times. */
void profile_clear_times(struct profile *p);

/* Times of samples, gathered from their lists. All zero is empty. */
struct sample_times {
	struct profile_time *all;
	size_t n, max;
};

void sample_times_deinit(struct sample_times *t);
/* Puts those of @sample behind the ones that are there: by scale, then bucket, each once. */
int sample_times_gather(struct sample_times *t, const struct profile *p, uint32_t sample);

#endif
