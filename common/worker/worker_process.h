/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_WORKER_PROCESS_H
#define PROFD_COMMON_WORKER_WORKER_PROCESS_H

/*
 * The process behind a worker (worker.h): how it is started, killed and waited for. Nothing of what
 * is said to it.
 */
#include <stdint.h>

#include "common/helper/child.h"

struct worker_process {
	struct child child;
	int socket; /* our end; -1: it was killed */
	int leash;  /* our end */
};

/* The program's path where the caller names none (worker.h), malloc'ed. Returns 0 or -ENOMEM. */
int worker_process_path(char **ret);
/*
 * Starts @path; @name, @memory_bytes and @keep_bytes are worker.h's. It gets no environment.
 * Returns 0 or negative errno, which is the program's, not fatal.
 */
int worker_process_start(struct worker_process *p, const char *path, const char *name,
			 uint64_t memory_bytes, uint64_t keep_bytes);
/* Ends it, and closes what leads to it. The child is still to be reaped. */
void worker_process_kill(struct worker_process *p);
/*
 * For how long it could have run and had no CPU, since its start (the second number of
 * /proc/PID/schedstat: Documentation/scheduler/sched-stats.rst); 0: unknown.
 */
uint64_t worker_process_starved_ns(const struct worker_process *p);

#endif
