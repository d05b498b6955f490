/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_CLOCK_H
#define PROFD_COMMON_CLOCK_H

/* What a clock says, in nanoseconds. May be asked in signal handlers (signal-safety(7)). */
#include <stdint.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* 0 where there is no such clock (clock_gettime(2)). */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

#endif
