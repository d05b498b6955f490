/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELPER_DESCENDANTS_H
#define PROFD_COMMON_HELPER_DESCENDANTS_H

/*
 * The processes that descend from a process, whichever thread or keeper forked them, with those
 * that were given up and have not ended: what a program takes of the machine is the sum over all.
 * Only files of /proc are read that wait for no lock a process can hold while it is stuck:
 * task/TID/children (fs/proc/array.c, get_children_pid()) and stat. Of a kernel without the first
 * (CONFIG_PROC_CHILDREN), there are none.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DESCENDANTS_MAX 256

struct descendants {
	pid_t pids[DESCENDANTS_MAX]; /* the first is the process itself */
	size_t n;
};

/* Of @pid, which is the caller's own process, or one of a single thread, as are all below it. */
void descendants_find(struct descendants *ret, pid_t pid);
/* CPU time of those children of @pid that it has waited for, in the clock's ticks (proc(5)). */
uint64_t descendants_ended_ns(pid_t pid);

#endif
