/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_CLAMPED_H
#define PROFD_COMMON_CLAMPED_H

/*
 * Sums of what strangers' profiles say: they stop at the ends of their range instead of coming
 * out at the other one.
 */
#include <stdint.h>

static inline int64_t clamped_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static inline uint64_t clamped_add_unsigned(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
