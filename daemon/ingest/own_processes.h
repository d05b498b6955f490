/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_OWN_PROCESSES_H
#define PROFD_INGEST_OWN_PROCESSES_H

/*
 * profd and its children: image workers, and what reads memory for it. They are members (members.h)
 * of OWN_SAMPLER in a set of their own, and so are those that they fork from then on.
 */
#include "daemon/ingest/members.h"

#define OWN_SAMPLER 0

/*
 * Adds @pid, and what its main thread has forked and that has forked, as far as it lives. @proc_fd:
 * a directory fd of /proc. Returns 0 or -ENOMEM.
 */
int own_processes_add(struct members *own, int proc_fd, pid_t pid);

#endif
