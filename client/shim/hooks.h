/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_HOOKS_H
#define PROFD_CLIENT_SHIM_HOOKS_H

/*
 * What hooks*.c share: each of their functions stands before one of the C library's, or of another
 * library's that was loaded for the same purpose, and hands on to it. Those are asked for once, at
 * the beginning: dlsym(3) takes a lock, which in a forked process may be nobody's.
 */
#include <signal.h>

/* Names that the program's calls find before the C library's. */
#define EXPORTED __attribute__((visibility("default")))

void hooks_signal_begin(void);
void hooks_exec_begin(void);

/* sigaction(2), behind our own. */
int hooks_sigaction(int number, const struct sigaction *action, struct sigaction *before);

#endif
