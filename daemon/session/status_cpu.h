/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_STATUS_CPU_H
#define PROFD_DAEMON_SESSION_STATUS_CPU_H

/*
 * The CPU time of child processes that come and go. The kernel adds up what those had used that
 * ended and were waited for (getrusage(2), RUSAGE_CHILDREN); of one that lives, its clock tells
 * (clock_getcpuclockid(3)), which takes no privileges over it and no /proc.
 */
#include <stddef.h>
#include <sys/time.h>
#include <sys/types.h>

double status_cpu_seconds(const struct timeval *time);
/*
 * Seconds, user and system, of all children that were waited for and of the @n processes in
 * @living, of which 0 and those that do not exist count nothing. One that ended and was not waited
 * for yet is missing until it is.
 */
double status_cpu_children(const pid_t *living, size_t n);

#endif
