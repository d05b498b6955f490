/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_LATENESS_H
#define PROFD_DAEMON_LATENESS_H

/*
 * How late something ran against its timer: a histogram whose steps are an eighth of a power of
 * two, so that any quantile is known to 13 %.
 */
#include <stdint.h>

#define LATENESS_BUCKETS 304 /* up to 2^40 ns, 18 minutes */

struct lateness {
	uint64_t n;
	uint64_t max_ns;
	uint32_t buckets[LATENESS_BUCKETS];
};

void lateness_add(struct lateness *l, uint64_t late_ns);
/* The upper bound of the step that holds quantile @q (0 .. 1), nanoseconds; 0 without values. */
uint64_t lateness_quantile(const struct lateness *l, double q);

#endif
