/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_FATAL_H
#define PROFD_CLIENT_SHIM_FATAL_H

/*
 * Signals that end the program, abort(3)'s among them: the profile is written before they do. Only
 * those that nobody handles. What the program sees is as if nobody did: sigaction(2) says so
 * (hooks_signal.c), and after the profile the same signal comes again, with the same siginfo at the
 * same instruction, and ends it: status, core file and parent know no difference.
 *
 * A signal for which the kernel finds no room on the stack ends the program at once, and so does
 * one that was blocked when an instruction raised it.
 */
#include <signal.h>
#include <stdbool.h>

/* Handles the signals that have no handler, and gives back those that still are ours. */
void fatal_begin(void);
void fatal_end(void);
/* Whether @action is ours. */
bool fatal_is(const struct sigaction *action);
/*
 * In a handler with all signals blocked, of a signal that is to end the program: writes the
 * profile, and has the signal come again when the handler returns, without a handler.
 */
void fatal_send_again(int number, siginfo_t *info);

#endif
