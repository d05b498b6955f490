/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_COMPARE_H
#define PROFD_COMMON_PROFILE_COMPARE_H

/*
 * One profile less another one, as pprof has it with -base, -diff_base and -normalize. The base's
 * values are negated and the two merged (merge.h), so that what both have in equal amounts is gone:
 *
 *	both:        compare_types_share()
 *	all:         compare_types_join() over all inputs; compare_types_apply() to each
 *	source:      compare_scale() by its ratios, with -normalize by compare_normalize()'s
 *	base:        compare_label_base() with -diff_base; compare_scale() by its ratios, negated
 *	both:        merge_add(), or bit by bit: samples can be scaled and labelled in batches
 *	result:      compare_total_add() for each sample
 *
 * The merge has to hold all samples: only their sum says what is left. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/pprof.h" /* struct profile_message */
#include "common/profile/profile.h"

/* Samples of the base have this label with -diff_base; percentages are of the base then. */
#define COMPARE_LABEL "pprof::base"

enum {
	COMPARE_E_OK,
	COMPARE_E_MISMATCH, /* the types of values differ: see the message */
};

/*
 * Several profiles can be merged or compared if their types have the same names and units of the
 * same kind (measure.h). @joined, an empty profile at first, gets the finest unit of each; its
 * types are those of the first profile otherwise. COMPARE_E_* or negative errno.
 */
int compare_types_join(struct profile *joined, const struct profile *p,
		       struct profile_message *message);
/*
 * Gives @p the units of @joined, its period as well; its samples are to be scaled by @ret, one
 * number per sample type. 0 or negative errno.
 */
int compare_types_apply(struct profile *p, const struct profile *joined, double *ret);

/*
 * The types, by name, that both have, in @a's order: *ret_n indices into the types of each. As
 * pprof, which compares and merges what profiles have in common.
 */
void compare_types_common(const struct profile *a, const struct profile *b,
			  uint32_t ret_a[PROFILE_TYPES_MAX], uint32_t ret_b[PROFILE_TYPES_MAX],
			  uint32_t *ret_n);
/*
 * Reduces @p to these @types of its, if it has others or another order; its default is then one of
 * them. 0 or negative errno, after which samples are lost.
 */
int compare_types_reduce(struct profile *p, const uint32_t *types, uint32_t n);
/* Reduces both to what both have. COMPARE_E_MISMATCH: nothing, and nothing is changed. */
int compare_types_share(struct profile *a, struct profile *b, struct profile_message *message);

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
