/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_HEAT_H
#define PROFD_CLIENT_ANALYSIS_HEAT_H

/*
 * A heat map of when samples were counted, as FlameScope draws it: a column for each second, from
 * the left to the right, and in it a cell for each 100 ms. As JSON:
 *
 *	{"since_ms": 1795251600000, "column_ms": 1000, "row_ms": 100, "columns": 60, "rows": 10,
 *	 "values": [...],     samples of each cell, column by column; null: it was not sampled
 *	 "max": 12, "samples": 5120,    the largest value; the sum of all
 *	 "untimed": 0,        samples of the profile whose times are not known, which are no part of
 *it "coarsest_ms": 100}  the longest bucket that samples are from: those are spread evenly
 *
 * Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct profile;
struct profile_coverage;

/* What a map is of. */
struct heat_options {
	int64_t since_ns, until_ns; /* Unix time */
	/* When there was sampling, which the profile of a service that did nothing does not show;
	 * NULL: in its windows. */
	const struct profile_coverage *covered;
	/* Which samples are left out; NULL: none. */
	bool (*is_left_out)(void *userdata, const struct profile *p, size_t sample);
	void *userdata;
};

#define HEAT_RANGE_MAX_NS INT64_C(3600000000000)

enum {
	HEAT_E_OK,
	HEAT_E_RANGE, /* it is empty, or longer than the maximum */
};

/*
 * Of the range from the second that since_ns is in up to the end of the one before until_ns.
 * Nothing is written but on HEAT_E_OK; errors of the stream stay in it (ferror(3)). HEAT_E_* or
 * negative errno.
 */
int heat_write(const struct profile *p, const struct heat_options *options, FILE *out);

#endif
