/* SPDX-License-Identifier: MIT */
/*
 * owner: a program that does with SIGPROF what programs do, while a profiler's timers use it. What
 * it prints is the same with libprofd and without, and so is its end: by that signal.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/integration/programs/burn.h"

#define FORKS 200

BURN(burn_owner)

static volatile sig_atomic_t n_calls, code;
static sigset_t masked;
static sigjmp_buf out;
static atomic_bool is_over;

static void on_signal(int number)
{
	(void)number;
	n_calls++;
}

static void on_info(int number, siginfo_t *info, void *ucontext)
{
	(void)number;
	(void)ucontext;
	n_calls++;
	code = info->si_code;
	pthread_sigmask(SIG_SETMASK, NULL, &masked);
}

static void on_jump(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

static void say_action(const char *when)
{
	struct sigaction now;

	sigaction(SIGPROF, NULL, &now);
	printf("%s: %s, flags %x, blocks USR1 %d\n", when,
	       now.sa_handler == SIG_DFL     ? "default"
	       : now.sa_handler == SIG_IGN   ? "ignored"
	       : now.sa_sigaction == on_info ? "on_info"
	       : now.sa_handler == on_signal ? "on_signal"
	       : now.sa_handler == on_jump   ? "on_jump"
					     : "something else",
	       (unsigned)now.sa_flags & ~0x04000000u, sigismember(&now.sa_mask, SIGUSR1));
}

static void calls(const char *what)
{
	printf("%s: %d calls\n", what, (int)n_calls);
	n_calls = 0;
}

static void handlers(void)
{
	struct sigaction action = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO};
	sigset_t now;

	say_action("at first");
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGPROF, &action, NULL);
	say_action("set");
	burn_owner(300);
	calls("while it works");
	raise(SIGPROF);
	calls("raised");
	printf("code %d, blocked: PROF %d USR1 %d USR2 %d\n", (int)code,
	       sigismember(&masked, SIGPROF), sigismember(&masked, SIGUSR1),
	       sigismember(&masked, SIGUSR2));
	action = (struct sigaction){.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	sigaction(SIGPROF, &action, NULL);
	raise(SIGPROF);
	calls("once");
	say_action("then");
	printf("signal: %d\n", signal(SIGPROF, on_jump) == SIG_DFL);
	if (sigsetjmp(out, 1) == 0)
		raise(SIGPROF);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	printf("jumped, blocked: PROF %d\n", sigismember(&now, SIGPROF));
	printf("signal: %d\n", signal(SIGPROF, SIG_IGN) == on_jump);
	raise(SIGPROF);
	burn_owner(200);
	say_action("ignored");
}

/* Some of the 60 that were due: the kernel merges those that come while the program has no CPU. */
static void some(const char *what)
{
	printf("%s: %d\n", what, n_calls >= 3 && n_calls <= 90 ? 1 : (int)n_calls);
	n_calls = 0;
}

static void timers(void)
{
	const struct itimerval every = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
	const struct itimerspec period = {{0, 10000000}, {0, 10000000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	timer_t timer;

	signal(SIGPROF, on_signal);
	setitimer(ITIMER_PROF, &every, NULL);
	burn_owner(600);
	setitimer(ITIMER_PROF, &never, NULL);
	some("setitimer");
	timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
	timer_settime(timer, 0, &period, NULL);
	burn_owner(600);
	timer_delete(timer);
	some("timer_create");
}

static void children(void)
{
	int status, n_well = 0;
	struct sigaction now;
	pid_t pid;

	pid = vfork();
	if (pid == 0) {
		sigaction(SIGPROF, &(struct sigaction){.sa_handler = on_jump}, NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	say_action("after vfork");
	for (int i = 0; i < FORKS; i++) {
		pid = fork();
		if (pid == 0) {
			alarm(10);
			_exit(sigaction(SIGPROF, NULL, &now));
		}
		n_well += waitpid(pid, &status, 0) == pid && status == 0;
	}
	printf("forks: %d\n", n_well);
}

static void *change(void *unused)
{
	struct sigaction action = {.sa_handler = on_signal};

	while (!is_over)
		sigaction(SIGPROF, &action, NULL);
	return unused;
}

int main(void)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	handlers();
	timers();
	pthread_create(&thread, NULL, change, NULL);
	usleep(10000);
	children();
	is_over = true;
	pthread_join(thread, NULL);
	/* As before another program is started. */
	for (int i = 1; i < _NSIG; i++)
		signal(i, SIG_DFL);
	burn_owner(300);
	say_action("all");
	raise(SIGPROF);
	return 1;
}
