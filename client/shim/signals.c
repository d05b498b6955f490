/* SPDX-License-Identifier: MIT */
/*
 * Two kinds of signals: those that end the program, for which a handler stands in, and the one of
 * our timers, for which what the program wants done is kept.
 */
#include "client/shim/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/shim/lock.h"
#include "client/shim/shim.h"

/* --- signals that end the program ------------------------------------------------------------- */

/* signal(7): those that end a program by default, but for the real-time ones and unused ones. */
static const unsigned char numbers[] = {
	SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,    SIGUSR1,
	SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGSYS,
};

/*
 * In a handler with all signals blocked, of a signal that is to end the program: writes the
 * profile, and has the signal come again when the handler returns, without a handler.
 */
static void fatal_send_again(int number, siginfo_t *info)
{
	const struct sigaction otherwise = {.sa_handler = SIG_DFL};
	int kept = errno;

	shim_end();
	hooks_sigaction(number, &otherwise, NULL);
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, info) < 0)
		syscall(SYS_tgkill, getpid(), gettid(), number);
	errno = kept;
}

static void on_fatal(int number, siginfo_t *info, void *ucontext)
{
	(void)ucontext;
	fatal_send_again(number, info);
}

bool fatal_is(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fatal;
}

void fatal_begin(void)
{
	struct sigaction ours = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction before;

	/* The first process of a namespace does not end by them (pid_namespaces(7)). */
	if (getpid() == 1)
		return;
	sigfillset(&ours.sa_mask);
	for (unsigned i = 0; i < sizeof(numbers); i++)
		if (hooks_sigaction(numbers[i], NULL, &before) == 0 &&
		    !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL)
			hooks_sigaction(numbers[i], &ours, NULL);
}

void fatal_end(void)
{
	const struct sigaction otherwise = {.sa_handler = SIG_DFL};
	struct sigaction now;

	for (unsigned i = 0; i < sizeof(numbers); i++)
		if (hooks_sigaction(numbers[i], NULL, &now) == 0 && fatal_is(&now))
			hooks_sigaction(numbers[i], &otherwise, NULL);
}

/* --- the signal of our timers ----------------------------------------------------------------- */

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

/* kill(2), sigqueue(3) or tgkill(2) of another process. */
static bool is_from_elsewhere(const siginfo_t *info)
{
	return (info->si_code == SI_USER || info->si_code == SI_QUEUE ||
		info->si_code == SI_TKILL) &&
	       info->si_pid != getpid();
}

void program_action_run(int number, siginfo_t *info, void *ucontext)
{
	const struct sigaction action = program_action_consume();
	sigset_t all;

	if (action.sa_handler == SIG_IGN ||
	    (action.sa_handler == SIG_DFL && is_from_elsewhere(info)))
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
