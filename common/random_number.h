/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_RANDOM_NUMBER_H
#define PROFD_COMMON_RANDOM_NUMBER_H

#include <stdint.h>
#include <sys/random.h>

/*
 * One of the kernel's, which nobody can foresee; 0 as long as the kernel has none, early in a
 * machine's start. Costs a system call.
 */
static inline uint32_t random_number(void)
{
	uint32_t ret;

	return getrandom(&ret, sizeof(ret), GRND_NONBLOCK) == sizeof(ret) ? ret : 0;
}

/* Below @limit, all equally likely. */
static inline uint32_t random_below(uint32_t limit)
{
	return (uint32_t)((uint64_t)random_number() * limit >> 32);
}

#endif
