/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_SANDBOX_H
#define PROFD_WORKER_SANDBOX_H

/*
 * Shuts this process in, for good: what it has open by then, memory, and what it is sent is all
 * that there is. In this order, so that each step can still be taken:
 *
 *   limits         address space, CPU time, size of files (memfds count), fds, processes, core
 *   who            uid 0 becomes nobody (65534) where it may; every capability goes, and no new
 *                  privileges are to be had (common/privileges.h)
 *   leash          protocol.h
 *   not traceable by others of its user
 *   landlock(7)    nothing allowed, of all that the kernel knows to forbid; without it in the
 *                  kernel, the next step has to do
 *   seccomp(2)     the system calls of a table; any other kills the process
 *
 * One thread only. No library may be loaded, and no locale, once it is done.
 */
#include <stdint.h>

#include "common/privileges.h"

#define SANDBOX_NOBODY PRIVILEGES_NOBODY

/*
 * CPU time: between two requests a worker ends by itself after SANDBOX_CPU_ENOUGH_S; one request
 * that takes it to SANDBOX_CPU_MAX_S is killed.
 */
#define SANDBOX_CPU_ENOUGH_S 60
#define SANDBOX_CPU_MAX_S    180
#define SANDBOX_FILES_MAX    64

/* @memory_bytes: for all that it will ever read. Returns 0 or negative errno: then it must not go
 * on. */
int sandbox_enter(uint64_t memory_bytes);
/* Of that, what it may use from now on: its own word. */
void sandbox_allow_memory(uint64_t memory_bytes);
/* All of it but the last step: for tests, which see whether the rest holds alone. */
int sandbox_restrict(uint64_t memory_bytes);

#endif
