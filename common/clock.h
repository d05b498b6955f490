/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_CLOCK_H
#define PROFD_COMMON_CLOCK_H

/* What a clock says, in nanoseconds. May be asked in signal handlers (signal-safety(7)). */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

static inline uint64_t timespec_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

/* 0 where there is no such clock (clock_gettime(2)). */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return timespec_ns(now);
}

/*
 * CPU time of all threads that the process @pid ever had. The kernel lets anybody ask
 * (kernel/time/posix-cpu-timers.c, pid_for_clock()). False: it is gone, and has been waited for.
 */
static inline bool clock_process_ns(pid_t pid, uint64_t *ret_ns)
{
	struct timespec used;
	clockid_t clock;

	/* To both calls, 0 is the caller. */
	if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return false;
	*ret_ns = timespec_ns(used);
	return true;
}

#endif
