/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_USAGE_COVERED_H
#define PROFD_OUTPUT_USAGE_COVERED_H

/*
 * Which parts of a range any window spans, in USAGE_SLOTS of each step. Windows begin and end at
 * any time, and mostly all services have the same ones. In a day's file, those hours are covered in
 * which any service has samples.
 */
#include <stddef.h>
#include <stdint.h>

#include "daemon/output/index.h"
#include "daemon/output/store.h"

#define USAGE_SLOTS 60u

struct usage_day {
	uint64_t start_s;
	uint32_t hours; /* a bit each: covered, by what was added */
};

struct usage_covered {
	uint64_t since_ns, until_ns;
	double step_ns;
	size_t n_steps;
	int32_t *slots; /* +1 where something begins, -1 where it ends */
	struct usage_day *days;
	size_t n_days, max_days;
};

/* 0 or negative errno. */
int usage_covered_init(struct usage_covered *c, uint64_t since_ns, uint64_t until_ns,
		       size_t n_steps);
void usage_covered_deinit(struct usage_covered *c);
void usage_covered_add(struct usage_covered *c, uint64_t start_ns, uint64_t end_ns);
/*
 * A day's file: *ret is its day, as long as no other is added. What its hours hold need not be
 * added where all of them are covered already. 0 or negative errno.
 */
int usage_covered_day(struct usage_covered *c, uint64_t start_s, struct usage_day **ret);
bool usage_day_is_full(const struct usage_day *day);
/* @hours: NULL if they are not known; then all are covered. */
void usage_covered_add_hours(struct usage_covered *c, struct usage_day *day,
			     const struct index_counts hours[STORE_HOURS]);
/* The covered part of each step. */
void usage_covered_list(const struct usage_covered *c, float *ret);

#endif
