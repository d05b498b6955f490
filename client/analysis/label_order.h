/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_LABEL_ORDER_H
#define PROFD_CLIENT_ANALYSIS_LABEL_ORDER_H

/*
 * The labels of one sample by their keys: views print the values of a key together, and a sample
 * may have as many labels as its file likes. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/profile/profile.h"

/*
 * Those of @labels that are texts, or else those that are numbers: labels of one key are
 * neighbours, as they come. *ret is malloc'ed, the caller's; what it points to is borrowed. 0 or
 * negative errno.
 */
int label_order(const struct profile_label *labels, size_t n, bool are_texts,
		const struct profile_label ***ret, size_t *ret_n);
/* How many at the beginning of @ordered, which is not empty, are of one key. */
size_t label_order_same(const struct profile_label *const *ordered, size_t n);

#endif
