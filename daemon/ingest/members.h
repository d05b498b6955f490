/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_MEMBERS_H
#define PROFD_INGEST_MEMBERS_H

/*
 * The filter of a source that cannot filter in the kernel: processes by pid, with a bit for each
 * sampler that samples them, and one for each that their children join. Follows fork by process
 * events. A process that ended stays until members_sweep() finds its pid gone, as samples of it
 * may still come.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "daemon/ingest/sample.h"

struct members {
	struct member *by_pid; /* NULL: nobody */
};

void members_deinit(struct members *m);

/* Returns 0 or -ENOMEM. */
int members_add(struct members *m, unsigned sampler, pid_t pid, bool children);
void members_remove(struct members *m, unsigned sampler, pid_t pid);
void members_remove_sampler(struct members *m, unsigned sampler);
bool members_has(const struct members *m, unsigned sampler, pid_t pid);
/* Returns 0, or -ENOMEM: then a child is missing. */
int members_follow(struct members *m, const struct process_event *event);
/* Removes what @is_alive says is gone, of those whose end was seen. */
void members_sweep(struct members *m, bool (*is_alive)(pid_t pid));

/*
 * profd and its children (image workers, and what reads memory for it) are members of this, if they
 * are not to be sampled, and so are those that they fork from then on.
 */
#define OWN_SAMPLER SAMPLERS_MAX

/*
 * Adds @pid, and what its main thread has forked and that has forked, as far as it lives. @proc_fd:
 * a directory fd of /proc. Returns 0 or -ENOMEM.
 */
int own_processes_add(struct members *m, int proc_fd, pid_t pid);

#endif
