/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_PROC_H
#define PROFD_RESOLVE_PROC_H

/*
 * What /proc says of one process to those who keep track of all (common/proc.h). Reading maps takes
 * the target's mmap_lock, so each caller does it once.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/proc.h"
#include "daemon/ingest/source.h"
#include "daemon/resolve/unit.h"

/* When the process of @stat began, CLOCK_BOOTTIME, as far as /proc knows (10 ms steps). */
uint64_t proc_start_ns(const struct proc_stat *stat);
/* Calls @fn for each process; a nonzero return ends the walk and is returned. */
int proc_each(int proc_fd, int (*fn)(void *userdata, const struct proc_stat *stat), void *userdata);
/* Whether the process of @stat started at @start_ns, as below; 0: who knows, true. */
bool proc_stat_is_of(const struct proc_stat *stat, uint64_t start_ns);
/* Whether @pid is alive and started at @start_ns (CLOCK_BOOTTIME; /proc knows 10 ms steps). */
bool proc_is_process(int proc_fd, pid_t pid, uint64_t start_ns);
/* Hands the executable mappings of @pid to @sink as MMAP events of @time_ns. */
int proc_emit_mappings(int proc_fd, pid_t pid, uint64_t time_ns, const struct source_sink *sink);
/*
 * The real uid by /proc/PID/status. *ret_only: whether the process runs as that user alone and
 * the kernel lets that user inspect it: not so for a set-id program, one with capabilities or one
 * that cannot be read, no matter which user started it.
 */
int proc_read_owner(int proc_fd, pid_t pid, uid_t *ret_uid, bool *ret_only);
/*
 * The unit of @pid, which @uid runs, by /proc/PID/cgroup. An empty ret->service: it is exiting and
 * the kernel does not show its groups any more.
 */
int proc_read_unit(int proc_fd, pid_t pid, uid_t uid, struct unit *ret);

#endif
