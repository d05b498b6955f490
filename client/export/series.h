/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_SERIES_H
#define PROFD_CLIENT_EXPORT_SERIES_H

/*
 * The samples of a window by series: those that agree in the labels that are kept. All other labels
 * go, and samples that differ in them alone become one. A window that would be more series than
 * EXPORT_SERIES_MAX has the samples of further ones in the series without labels, so that sums stay
 * what they are.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/export/labels.h"
#include "common/profile/intern.h"

struct profile;

#define EXPORT_SERIES_MAX 256u
#define EXPORT_KEEP_MAX   8u /* labels that are kept; further ones are not */

struct export_kept {
	int64_t number;
	uint32_t text; /* string; 0: a number, if there is the label */
	uint32_t is_there;
};

/* Without padding. */
struct export_series_key {
	struct export_kept kept[EXPORT_KEEP_MAX];
};

/* All zero is empty. */
struct export_series {
	struct span names[EXPORT_KEEP_MAX]; /* within the list */
	uint32_t keys[EXPORT_KEEP_MAX];     /* strings */
	size_t n_keys;
	struct export_series_key *all; /* the first one is that without labels */
	struct intern known;
	uint32_t *of_sample; /* by number of the sample */
};

void export_series_deinit(struct export_series *s);
/*
 * Sorts the samples of @p by series, and drops those of 0; afterwards they have no labels. @keep
 * ("pid,thread") is borrowed until export_series_deinit(). 0 or negative errno.
 */
int export_series_make(struct export_series *s, struct profile *p, const char *keep);
/* The number of samples, from @first on, that are of one series. */
size_t export_series_length(const struct export_series *s, const struct profile *p, size_t first);
/* Adds what the series of @sample is distinguished by. 0 or -ENOMEM. */
int export_series_set_labels(const struct export_series *s, const struct profile *p, size_t sample,
			     struct export_labels *labels);

#endif
