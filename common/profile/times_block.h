/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_TIMES_BLOCK_H
#define PROFD_COMMON_PROFILE_TIMES_BLOCK_H

/*
 * The times of samples (sample_times.h) in a profile.proto file: a field of Profile that it does
 * not define, and readers skip, before the samples that it is of:
 *
 *	message SampleTimes {              // field 1000 of Profile, repeated
 *		uint64 n_samples = 1;      // of the samples that follow
 *		uint64 base = 2;           // units of 100 ms since 1970
 *		uint64 scales = 3;         // bit s: there are buckets of 2^s of these units
 *		sint64 low = 4;            // all buckets begin from base + low on
 *		uint64 span = 5;           // and not after base + low + span
 *		bool partial = 6;          // not of all samples the times are known
 *		bytes bits = 7;
 *	}
 *
 * For a sample with a number label `window`, base is that second instead. The bits (bits.h) are,
 * for each sample: if partial, 1 of 2 where its times are known; then how many of its count (its
 * first value) have each of the scales, the smallest first, of as many as are left, which the last
 * scale gets; and the buckets of each scale, one for each that was counted, in ascending order, by
 * binary interpolative coding: the middle one, of as many as there may be, then those before it,
 * then those behind it. What must be equal takes no bits. It takes what the distribution over time
 * is worth, so that it cannot be compressed.
 *
 * A program that writes the file anew and does not know the field drops it, or puts it behind the
 * samples, where it is of none. What cannot be decoded is ignored, with all that follows it in its
 * field. Pure.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "common/wire.h"

#define PPROF_TIMES 1000 /* the field's number */

struct times_block {
	size_t n_samples; /* the first ones of those that were given */
	uint8_t *field;   /* malloc'ed: the whole field; NULL: no times of them are known */
	size_t length;
};

/*
 * Of samples from @first up to @end, as many as go into one block, at least one. 0 or negative
 * errno.
 */
int times_block_make(const struct profile *p, size_t first, size_t end, struct times_block *ret);
/* Bytes that the times of all samples take. 0 or negative errno. */
int times_block_measure(const struct profile *p, size_t *ret);

/* A block that is being read; all zero: none is. */
struct times_reading {
	uint8_t *bits; /* owned, as is the list */
	size_t n_bits, at;
	uint64_t n_samples; /* still to come */
	uint64_t base, scales, span;
	int64_t low;
	bool partial;
	uint32_t window_key;
	struct sample_times list;
};

void times_reading_deinit(struct times_reading *t);
/* A field PPROF_TIMES of @p, of which all texts are there. 0 or negative errno. */
int times_reading_begin(struct times_reading *t, const struct profile *p,
			const struct wire_field *f);
/* The next sample, which is the last one of @p. 0 or negative errno. */
int times_reading_sample(struct times_reading *t, struct profile *p);

#endif
