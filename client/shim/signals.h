/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_SIGNALS_H
#define PROFD_CLIENT_SHIM_SIGNALS_H

/* Signals that the library takes, and what the program sees of that (hooks.c). */
#include <signal.h>
#include <stdbool.h>

/* sigaction(2), behind our own. */
int hooks_sigaction(int number, const struct sigaction *action, struct sigaction *before);

/*
 * Signals that end the program, abort(3)'s among them: the profile is written before they do. Only
 * those that nobody handles. What the program sees is as if nobody did: sigaction(2) says so
 * (hooks.c), and after the profile the same signal comes again, with the same siginfo at the
 * same instruction, and ends it: status, core file and parent know no difference.
 *
 * A signal for which the kernel finds no room on the stack ends the program at once, and so does
 * one that was blocked when an instruction raised it.
 */

/* Handles the signals that have no handler, and gives back those that still are ours. */
void fatal_begin(void);
void fatal_end(void);
/* Whether @action is ours. */
bool fatal_is(const struct sigaction *action);

/*
 * What the program itself wants done with the signal of our timers. Many programs set an action for
 * every signal, to clean up before they end (sort(1)), or the default, before they start another
 * program; ticks would then end them. So ours stays in place, the program is shown what it has set,
 * and gets the signals that are not our timers': its own timers', kill(2)'s, raise(3)'s.
 *
 * Not like the kernel's: SA_RESTART always holds, a handler may run on the alternate stack without
 * SA_ONSTACK, and by default the program ends by a signal of its own only: one that another process
 * sends may be meant for libprofiler, which never lets it end the program.
 */

/*
 * As sigaction(2) of that signal, which ours is the action of; first of all with what ours took the
 * place of. By any thread, in handlers, with the library's lock held or not.
 */
void program_action(const struct sigaction *action, struct sigaction *ret_before);

/*
 * In the handler of that signal, all signals blocked, of one that is not our timers': what the
 * program wants. May not return, as the program's handlers may not.
 */
void program_action_run(int number, siginfo_t *info, void *ucontext);

/* Around a fork(2), whose child has no other threads. All signals are blocked. */
void program_action_hold(void);
void program_action_release(void);

#endif
