/* SPDX-License-Identifier: MIT */
#include "daemon/session/status_cpu.h"

#include <sys/resource.h>
#include <time.h>

double status_cpu_seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double process_cpu_seconds(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	/* To both calls, 0 is the caller. */
	if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

double status_cpu_children(const pid_t *living, size_t n)
{
	struct rusage usage;
	double sum;

	/* First those that ended: one that is waited for meanwhile is not counted twice. */
	getrusage(RUSAGE_CHILDREN, &usage);
	sum = status_cpu_seconds(&usage.ru_utime) + status_cpu_seconds(&usage.ru_stime);
	for (size_t i = 0; i < n; i++)
		sum += process_cpu_seconds(living[i]);
	return sum;
}
