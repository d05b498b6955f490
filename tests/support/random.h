/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_RANDOM_H
#define PROFD_TESTS_RANDOM_H

/* The same numbers each time, so that a failure repeats: a linear congruence, Knuth's MMIX. */
#include <stdint.h>

/* 31 bits. */
static inline uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

#endif
