/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_TAG_MATCHES_H
#define PROFD_CLIENT_ANALYSIS_TAG_MATCHES_H

/*
 * Filters by the labels of samples, which pprof calls tags. A filter is one of
 *
 *	RE,RE...        each of them matches one of the texts `key:value`
 *	KEY=RE,RE...    one of them matches a value of that key
 *	RANGE, KEY=RANGE    a number label (of that key) is in the range: `32kb` is just that,
 *	                `:32kb` that or less, `4mb:` that or more, `4mb:32mb` what is between
 *
 * A number without a unit is in the unit of other samples' labels of its key, or in a unit that is
 * called as the key; memory ("alignment", "request") in bytes. (A number in a unit that is no
 * unit of measure.h counts as if it were in the range's own.) What a key's unit is must be known
 * before the first sample is asked about: see tag_filter_learn_units(). Internal to
 *client/analysis.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/profile/profile.h"

struct profile_message;
struct regex;
struct tag_filter;

/* @what is the option's name. REGEX_E_* (regex.h) or negative errno. */
int tag_filter_new(struct tag_filter **ret, const char *what, const char *text,
		   struct profile_message *message);
void tag_filter_free(struct tag_filter *f);
DEFINE_CLEANUP(struct tag_filter *, tag_filter_free)

/* It was understood as a range: pprof says so to the user. */
bool tag_filter_is_range(const struct tag_filter *f);
/* Learns which units the keys have from the labels of @p's samples. 0 or negative errno. */
int tag_filter_learn_units(struct tag_filter *f, const struct profile *p);
/* 0 or negative errno. */
int tag_filter_matches(struct tag_filter *f, const struct profile *p,
		       const struct profile_label *labels, uint32_t n_labels, bool *ret);
/* See regex.h. */
uint64_t tag_filter_n_given_up(const struct tag_filter *f);

/* pprof reads a label without text, number and unit as none at all. */
static inline bool tag_is_number(const struct profile_label *l)
{
	return !l->str && (l->num || l->num_unit);
}

#endif
