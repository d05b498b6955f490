/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_SHIM_H
#define PROFD_CLIENT_SHIM_SHIM_H

/*
 * The one profile that a process can have at a time: started, sampled, written, ended. The
 * functions of profd/profiler.h (profiler.c) and what is put between the program and its C library
 * (hooks.c) come here.
 *
 * All may be called by any thread, in a signal handler too, but not in filter_in_thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "client/shim/include/profd/profiler.h"

struct thread;

/* Once, before anything else: reads the environment, and starts what that says. */
void shim_begin(void);
/*
 * At the end of the process: ends the profile, unless it is that of a process we were forked from.
 * Needs little of the caller's stack.
 */
void shim_end(void);

bool shim_start(const char *name, const struct ProfilerOptions *options);
void shim_flush(void);

/*
 * What a thread needs that is to be made, until threads_release() if it is not; NULL: it is made as
 * it always was.
 */
struct thread *shim_thread_prepare(void *(*start)(void *), void *argument);
/* In the new thread, first: @thread as prepared, or NULL for one that was made otherwise. */
void shim_thread_begin(struct thread *thread);

/* Libraries may have been loaded. */
void shim_libraries_changed(void);

/* The signal that threads must not block: 0 while no profile runs. */
int shim_tick_signal(void);
/* Whether that signal is @number, and the library's handler is there, for this process. */
bool shim_has_signal(int number);

/* Before exec(3), and after one that failed. */
void shim_exec_begin(void);
void shim_exec_failed(void);

/* For pthread_atfork(3). */
void shim_fork_prepare(void);
void shim_fork_parent(void);
void shim_fork_child(void);

#endif
