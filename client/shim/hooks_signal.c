/* SPDX-License-Identifier: MIT */
/*
 * Signals: the program is not to see which ones we have taken (fatal.h, program_action.h), and
 * threads that block all of them go on being sampled. Else their ticks would be what sigwait(3)
 * returns.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "client/shim/fatal.h"
#include "client/shim/hooks.h"
#include "client/shim/program_action.h"
#include "client/shim/shim.h"

typedef int action_function(int, const struct sigaction *, struct sigaction *);
typedef void (*handler)(int);
typedef handler signal_function(int, handler);
typedef int mask_function(int, const sigset_t *, sigset_t *);

HOOKS_FIND(action_function, sigaction, "sigaction")
HOOKS_FIND(signal_function, signal, "signal")
HOOKS_FIND(signal_function, sysv_signal, "__sysv_signal")
HOOKS_FIND(mask_function, sigprocmask, "sigprocmask")
HOOKS_FIND(mask_function, pthread_sigmask, "pthread_sigmask")

void hooks_signal_begin(void)
{
	find_sigaction();
	find_signal();
	find_sysv_signal();
	find_sigprocmask();
	find_pthread_sigmask();
}

int hooks_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	return find_sigaction()(number, action, before);
}

EXPORTED int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	int r;

	if (shim_has_signal(number)) {
		program_action(action, before);
		return 0;
	}
	r = hooks_sigaction(number, action, before);
	if (r == 0 && before && fatal_is(before))
		*before = (struct sigaction){.sa_handler = SIG_DFL};
	return r;
}

static handler set_handler(signal_function *real, int number, handler action, int flags)
{
	struct sigaction now = {.sa_handler = action, .sa_flags = flags}, before;
	bool was_ours;
	handler r;

	if (action != SIG_ERR && shim_has_signal(number)) {
		if (!(flags & SA_NODEFER))
			sigaddset(&now.sa_mask, number);
		program_action(&now, &before);
		return before.sa_handler;
	}
	was_ours = hooks_sigaction(number, NULL, &before) == 0 && fatal_is(&before);
	r = real(number, action);
	return was_ours && r != SIG_ERR ? SIG_DFL : r;
}

EXPORTED handler signal(int number, handler action)
{
	return set_handler(find_signal(), number, action, SA_RESTART);
}

/* signal(3) of programs that are compiled for X/Open. */
EXPORTED handler __sysv_signal(int number, handler action)
{
	return set_handler(find_sysv_signal(), number, action, (int)SA_RESETHAND | SA_NODEFER);
}

/* @set without the tick's signal, in @room; or as it is. */
static const sigset_t *admit_ticks(int how, const sigset_t *set, sigset_t *room)
{
	int tick = shim_tick_signal();

	if (!set || how == SIG_UNBLOCK || !tick || sigismember(set, tick) != 1)
		return set;
	*room = *set;
	sigdelset(room, tick);
	return room;
}

EXPORTED int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
	sigset_t room;

	return find_sigprocmask()(how, admit_ticks(how, set, &room), before);
}

EXPORTED int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	sigset_t room;

	return find_pthread_sigmask()(how, admit_ticks(how, set, &room), before);
}
