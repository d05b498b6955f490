/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_PEAK_H
#define PROFD_OUTPUT_PEAK_H

/*
 * The busiest second of a profile, from the times of its samples: what a mean over a longer time
 * does not show. Samples whose times are not known are not in it.
 */
#include <stdint.h>

#include "common/profile/profile.h"
#include "daemon/output/index.h"

/*
 * @start_s, @seconds: the window. *ret is all zero if no CPU time or no times are known, or if the
 * window is longer than a day. 0 or negative errno.
 */
int peak_find(struct index_peak *ret, const struct profile *p, uint64_t start_s, uint32_t seconds);
/* Makes @peak the higher one of both; @other is of a file that begins @after_s later. */
void peak_join(struct index_peak *peak, struct index_peak other, uint64_t after_s);

#endif
