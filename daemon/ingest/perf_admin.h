/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_PERF_ADMIN_H
#define PROFD_INGEST_PERF_ADMIN_H

/*
 * Debian's kernels know a kernel.perf_event_paranoid above 2, and have it as their default:
 * perf_event_open(2) then takes CAP_SYS_ADMIN, whatever else is held. A process that has it keeps
 * it set aside and takes it up for the call alone; at 2 and below it is given up, so that a level
 * that is raised later takes a restart.
 */
#include <linux/perf_event.h>
#include <sys/types.h>

/*
 * For others than a root that may do everything: from here on CAP_SYS_ADMIN is not in effect, and
 * programs that are started do not get it; children that are forked can have it. To be called
 * before there are threads. Returns 0 or negative errno.
 */
int perf_admin_set_aside(void);
/* Then, when those children are there: nor is it permitted if it is not needed. */
int perf_admin_give_up(void);

/* perf_event_open(2), close-on-exec. Returns the fd or negative errno. */
int perf_admin_open(const struct perf_event_attr *attr, pid_t pid, int cpu);

#endif
