/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_COMPARE_H
#define PROFD_COMMON_PROFILE_COMPARE_H

/*
 * One profile less another one, as pprof has it with -base, -diff_base and -normalize. The base's
 * values are negated and the two merged (merge.h), so that what both have in equal amounts is gone:
 *
 *	both:        value_types_share()
 *	source:      with -normalize compare_scale() by compare_normalize()'s ratios
 *	base:        compare_label_base() with -diff_base; compare_scale() by -1
 *	both:        merge_add(), or bit by bit: samples can be scaled and labelled in batches
 *	result:      compare_total_add() for each sample
 *
 * The merge has to hold all samples: only their sum says what is left. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile.h"

/* Samples of the base have this label with -diff_base; percentages are of the base then. */
#define COMPARE_LABEL "pprof::base"

/* Rounded, and clamped to int64_t's range. */
int64_t compare_scaled(int64_t value, double ratio);
/*
 * Multiplies the values of the samples from the @first on, at most @n of them, by @ratios, one per
 * sample type.
 */
void compare_scale(struct profile *p, size_t first, size_t n, const double *ratios);
/*
 * Ratios that give a source of these totals (profile_total(), one per sample type) the totals of
 * the base; 0 where the source has nothing.
 */
void compare_normalize(const int64_t *source, const int64_t *base, uint32_t n, double *ret);
/*
 * Gives each sample of @p the label pprof::base, `true`, instead of any that it has of that key.
 * Samples that become equal become one, those of 0 go. 0 or negative errno, after which samples are
 * lost.
 */
int compare_label_base(struct profile *p);

/* What percentages are of. All zero is of nothing. */
struct compare_total {
	int64_t total, divisor, base_total, base_divisor;
};

/*
 * Adds @sample's values: the @type'th without its sign, and, if @is_mean, the first one as what
 * the sum is divided by.
 */
void compare_total_add(struct compare_total *t, const struct profile *p, size_t sample,
		       uint32_t type, bool is_mean);
/* Of the base's samples if there are such, else of all. */
int64_t compare_total(const struct compare_total *t);

#endif
