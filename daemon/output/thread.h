/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_OUTPUT_THREAD_H
#define PROFD_DAEMON_OUTPUT_THREAD_H

/* Threads that are never interrupted: signals are the main thread's. */
#include <pthread.h>

/*
 * Runs @run(@userdata) in a thread with all signals blocked, called @name (at most 15 characters).
 * The caller joins *ret. Returns 0 or negative errno.
 */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *userdata), void *userdata);

#endif
