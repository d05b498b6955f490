/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_TIME_RANGE_H
#define PROFD_CLIENT_ANALYSIS_TIME_RANGE_H

/*
 * A part of a profile by the times of its samples (common/profile/sample_times.h), which may be
 * less than a window. A bucket is in the range that its middle is in, so that ranges that follow
 * each other add up. Pure.
 */
#include <stdint.h>

struct profile;

/*
 * Keeps of the samples what was counted from @since_ns up to @until_ns (Unix time), and of their
 * values the same share; time and duration of @p become those of the range, as far as its windows
 * cover it. Waits have no times: of them it is the share of the time that is covered. Other samples
 * whose times are not known stay as they are: *ret_untimed is how many they
 * count. 0 or negative errno, after which samples are lost.
 */
int time_range_keep(struct profile *p, int64_t since_ns, int64_t until_ns, int64_t *ret_untimed);

#endif
