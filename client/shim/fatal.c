/* SPDX-License-Identifier: MIT */
#include "client/shim/fatal.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/shim/hooks.h"
#include "client/shim/shim.h"

/* signal(7): those that end a program by default, but for the real-time ones and unused ones. */
static const unsigned char numbers[] = {
	SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,    SIGUSR1,
	SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGSYS,
};

void fatal_send_again(int number, siginfo_t *info)
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
