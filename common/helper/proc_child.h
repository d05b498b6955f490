/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELPER_PROC_CHILD_H
#define PROFD_COMMON_HELPER_PROC_CHILD_H

/*
 * Who opens files about other processes (struct proc_opener of common/proc.h) for a program that is
 * small, has one thread and looks at few processes: a child process, which is given up when it
 * takes too long. One that is stuck may not even end when it is killed; of these there are
 * PROC_CHILD_LEFT_MAX at most, and then nobody is asked until one has ended.
 */
#include "common/cleanup.h"
#include "common/clock.h"

#define PROC_CHILD_WAIT_NS  (2 * NS_PER_S)
#define PROC_CHILD_LEFT_MAX 8

struct proc_child;

/*
 * Opens for the calling thread from now on; forks when it has to. @wait_ns: for one file; 0:
 * PROC_CHILD_WAIT_NS. Returns 0 or -ENOMEM.
 */
int proc_child_new(struct proc_child **ret, uint64_t wait_ns);
/* Waits for nobody. Takes NULL. */
void proc_child_free(struct proc_child *c);
DEFINE_CLEANUP(struct proc_child *, proc_child_free)

#endif
