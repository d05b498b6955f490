/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_WORKER_PROCESS_H
#define PROFD_COMMON_WORKER_WORKER_PROCESS_H

/*
 * The process behind a worker (worker.h): how it is started, killed and waited for. Nothing of what
 * is said to it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker_process {
	pid_t pid;  /* 0: none; until it was waited for */
	int socket; /* our end; -1: it was killed */
	int leash;  /* our end */
	int pidfd;  /* -1: a kernel before 5.3 */
};

void worker_process_init(struct worker_process *p);
/* The program's path where the caller names none (worker.h), malloc'ed. Returns 0 or -ENOMEM. */
int worker_process_path(char **ret);
/*
 * Starts @path; @name, @memory_bytes and @keep_bytes are worker.h's. It gets no other fds, no
 * environment, all signals as they are by default, and a session of its own: a terminal's ^C is for
 * us. Returns 0 or negative errno, which is the program's, not fatal.
 */
int worker_process_start(struct worker_process *p, const char *path, const char *name,
			 uint64_t memory_bytes, uint64_t keep_bytes);
/* Ends it, and closes what leads to it. It remains to be waited for. */
void worker_process_kill(struct worker_process *p);
/*
 * Waits for its end, @timeout_ms at most: a killed one can be in a read(2) that its disk or network
 * does not answer. True: *ret_status is waitpid(2)'s, and there is no process any more.
 */
bool worker_process_reap(struct worker_process *p, int timeout_ms, int *ret_status);
/*
 * For how long it could have run and had no CPU, since its start (the second number of
 * /proc/PID/schedstat: Documentation/scheduler/sched-stats.rst); 0: unknown.
 */
uint64_t worker_process_starved_ns(const struct worker_process *p);

#endif
