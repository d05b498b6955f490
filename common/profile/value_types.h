/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_VALUE_TYPES_H
#define PROFD_COMMON_PROFILE_VALUE_TYPES_H

/*
 * What the values of samples are: the types that profd itself writes, a row each, and how the types
 * of two profiles are brought together, by their names and by units of one kind (measure.h), as
 * pprof does it for profiles that are merged or compared. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/pprof.h"
#include "common/profile/profile.h"

struct value_type {
	const char *name, *unit;
	const char *events[2]; /* as perf names what is measured; NULL: none */
};

/* The type whose events include @event, modifiers (":u") aside; NULL: it is counted by its name. */
const struct value_type *value_type_of_event(const char *event);
/*
 * Gives @p, which has no types yet, samples and what @event measures, its period as well. 0 or
 * negative errno.
 */
int value_types_add(struct profile *p, const char *event);

/*
 * Gives @p, which has two types, waits beside what it has, which stays what is shown; samples have
 * 0 of them. 0 or negative errno.
 */
int value_types_add_waits(struct profile *p);
/* The same with latency (daemon/aggregate/latency.h), beside CPU time. */
int value_types_add_latency(struct profile *p);
/* Both, as far as @p, which has CPU time, has none of them. */
int value_types_add_optional(struct profile *p);
/* Which type is that of waits: never the first one. False: none. */
bool value_types_find_waits(const struct profile *p, uint32_t *ret);

enum {
	VALUE_TYPES_E_OK,
	VALUE_TYPES_E_MISMATCH, /* see the message */
};

/*
 * The types, by name, that both have, in @a's order: returns how many, and their indices among the
 * types of each.
 */
uint32_t value_types_common(const struct profile *a, const struct profile *b,
			    uint32_t ret_a[PROFILE_TYPES_MAX], uint32_t ret_b[PROFILE_TYPES_MAX]);
/* Whether a sample has waits and, of the types beside samples, nothing else, where there are
 * others. */
bool value_types_is_wait(const struct profile *p, size_t sample);
/*
 * Profiles of profd with waits and without, or of waits alone, or with latency and without: where
 * both have samples, one has these, and what the other lacks are rows of the table above, they are
 * added to @p, whose samples have 0 of them. The same types may be in another order. *ret: this is
 * so; then ret_from[] is, of each of @p's types, which one of @from's that is, or PROFILE_NONE: its
 * samples have 0 of it. Else @p is as it was. @is_fixed: it may not get any more types. 0 or
 * negative errno.
 */
int value_types_unite(struct profile *p, const struct profile *from, bool is_fixed, bool *ret,
		      uint32_t ret_from[PROFILE_TYPES_MAX]);
/*
 * Reduces @p to these @types of its, if it has others or another order; its default is then one of
 * them. 0 or negative errno, after which samples are lost.
 */
int value_types_reduce(struct profile *p, const uint32_t *types, uint32_t n);
/*
 * Gives @p the finer one of each two units, its own and @from's, and scales its values.
 * @from_types: which of @from's types belongs to each of @p's, PROFILE_NONE: none; NULL: all of
 * them, in order.
 * @ret_ratios: what @from's values are to be multiplied by, then, one per type of @p, and last its
 * period. VALUE_TYPES_E_* or negative errno.
 */
int value_types_agree(struct profile *p, const struct profile *from, const uint32_t *from_types,
		      double ret_ratios[PROFILE_TYPES_MAX + 1], struct profile_message *message);
/*
 * Reduces both to the types that both have, and to the finer units. VALUE_TYPES_E_* (on a mismatch
 * both are as they were, or reduced) or negative errno.
 */
int value_types_share(struct profile *a, struct profile *b, struct profile_message *message);

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

/* Samples of the base have this label with -diff_base; percentages are of the base then. */
#define COMPARE_LABEL "pprof::base"

/* Rounded, and clamped to int64_t's range. */
int64_t compare_scaled(int64_t value, double ratio);
/* Multiplies the values of the samples by @ratios, one per sample type. */
void compare_scale(struct profile *p, const double *ratios);
/* Ratios that give @source the totals of @base, of the same types; 0 where it has nothing. */
void compare_normalize(const struct profile *source, const struct profile *base, double *ret);
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

/* Whether a sample with these labels is of the base, as compare_label_base() labels it. */
bool compare_is_base(const struct profile *p, const struct profile_label *labels, uint32_t n);
/*
 * Adds @sample's values: the @type'th without its sign, and, if @is_mean, the first one as what
 * the sum is divided by.
 */
void compare_total_add(struct compare_total *t, const struct profile *p, size_t sample,
		       uint32_t type, bool is_mean);
/* Of the base's samples if there are such, else of all. */
int64_t compare_total(const struct compare_total *t);

#endif
