/* SPDX-License-Identifier: MIT */
#include "client/shim/program_action.h"

#include <stdatomic.h>
#include <stddef.h>

#include "client/shim/fatal.h"
#include "client/shim/lock.h"

/* For some instructions, with all signals blocked: a handler never waits for its own thread. */
static struct lock lock;
static struct sigaction program;

void program_action(const struct sigaction *action, struct sigaction *ret_before)
{
	struct sigaction before, now = action ? *action : (struct sigaction){0};
	sigset_t mask;

	lock_take(&lock, &mask);
	before = program;
	if (action)
		program = now;
	lock_release(&lock, &mask);
	if (ret_before)
		*ret_before = before;
}

/* SA_RESETHAND is over with its first signal. */
static struct sigaction program_action_consume(void)
{
	struct sigaction taken;
	sigset_t mask;

	lock_take(&lock, &mask);
	taken = program;
	if (program.sa_flags & (int)SA_RESETHAND)
		program.sa_handler = SIG_DFL;
	lock_release(&lock, &mask);
	return taken;
}

/* What would be blocked if the kernel had called the handler. */
static void set_mask(int number, const struct sigaction *action, const void *ucontext)
{
	const ucontext_t *context = ucontext;
	sigset_t mask;

	sigorset(&mask, &context->uc_sigmask, &action->sa_mask);
	if (!(action->sa_flags & SA_NODEFER))
		sigaddset(&mask, number);
	lock_set_mask(&mask, NULL);
}

void program_action_hold(void)
{
	sigset_t mask;

	lock_take(&lock, &mask);
}

void program_action_release(void)
{
	lock_release_only(&lock);
}

void program_action_run(int number, siginfo_t *info, void *ucontext)
{
	const struct sigaction action = program_action_consume();
	sigset_t all;

	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_handler == SIG_DFL) {
		fatal_send_again(number, info);
		return;
	}
	set_mask(number, &action, ucontext);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, ucontext);
	else
		action.sa_handler(number);
	sigfillset(&all);
	lock_set_mask(&all, NULL);
}
