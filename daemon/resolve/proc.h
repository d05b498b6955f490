/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_PROC_H
#define PROFD_RESOLVE_PROC_H

/*
 * What is read from /proc about one process. Every function takes a directory fd of /proc; a
 * process that is gone, or may not be looked at, is PROC_E_GONE. Reading maps takes the target's
 * mmap_lock, so each caller does it once.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/ingest/source.h"
#include "daemon/resolve/maps.h"
#include "daemon/resolve/unit.h"

enum {
	PROC_E_OK,
	PROC_E_GONE,
};

/* /proc/PID/stat. */
int proc_read_stat(int proc_fd, pid_t pid, struct maps_stat *ret);
/* When the process of @stat began, CLOCK_BOOTTIME, as far as /proc knows (10 ms steps). */
uint64_t proc_start_ns(const struct maps_stat *stat);
/* Calls @fn for each process; a nonzero return ends the walk and is returned. */
int proc_each(int proc_fd, int (*fn)(void *userdata, const struct maps_stat *stat), void *userdata);
/* The thread group (process) of the thread @tid. */
int proc_thread_group(int proc_fd, pid_t tid, pid_t *ret);
/* Whether @pid is alive and started at @start_ns (CLOCK_BOOTTIME; /proc knows 10 ms steps). */
bool proc_is_process(int proc_fd, pid_t pid, uint64_t start_ns);
/* Hands the executable mappings of @pid to @sink as MMAP events of @time_ns. */
int proc_emit_mappings(int proc_fd, pid_t pid, uint64_t time_ns, const struct source_sink *sink);
/*
 * The unit by /proc/PID/cgroup, the real uid by /proc/PID/status. *ret_only_uid tells whether the
 * process runs as that user alone and the kernel lets him look into it: a set-id program, one with
 * capabilities or one that cannot be read is not his, whoever started it. An empty ret->service:
 * the process is exiting and the kernel does not tell its groups any more.
 */
int proc_read_unit(int proc_fd, pid_t pid, uid_t *ret_uid, bool *ret_only_uid, struct unit *ret);

/*
 * Who may look into @pid, whose status file belongs to @owner: a first thread that has ended has no
 * memory any more, and its files are root's; then another thread's tell.
 */
uid_t proc_owner(int proc_fd, pid_t pid, uid_t owner);

enum proc_life {
	PROC_LIFE_ALIVE,
	PROC_LIFE_LEADER_GONE, /* the first thread has ended, others run */
	PROC_LIFE_ENDED,       /* or is about to */
};
enum proc_life proc_life(int proc_fd, pid_t pid);

#endif
