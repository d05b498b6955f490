/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_COMPARE_H
#define PROFD_COMMON_PROFILE_COMPARE_H

/* Two profiles in memory, one less the other: all the steps that value_types.h names. Pure. */
#include <stdbool.h>

#include "common/profile/profile.h"

struct profile_message;

struct compare_options {
	bool normalizes;   /* the totals of the base are given to the other first */
	bool labels_bases; /* its samples are distinguished: COMPARE_LABEL */
};

enum {
	COMPARE_E_OK,
	COMPARE_E_MISMATCH, /* they have no type in common: see the message */
};

/*
 * *p becomes what is left of it, less @base, whose samples are spoilt. COMPARE_E_* or negative
 * errno, after which neither is of use.
 */
int compare_subtract(struct profile **p, struct profile *base,
		     const struct compare_options *options, struct profile_message *message);

#endif
