/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_LAUNCH_H
#define PROFD_RUN_LAUNCH_H

/* Starting a command as if its user had started it directly. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

struct launch {
	char *const *argv;        /* NULL behind the last; argv[0] as execvp(3) takes it */
	const char *preload;      /* put before what LD_PRELOAD names; NULL: not */
	const char *socket;       /* for PROFD_CONNECT; NULL: not */
	const sigset_t *mask;     /* of signals, as it was */
	const struct rlimit *fds; /* RLIMIT_NOFILE, as it was */
};

enum {
	LAUNCH_E_OK,
	LAUNCH_E_FAILED, /* it cannot be executed: *ret_error says why */
};

/* A process that has not executed the command yet. */
struct launched {
	pid_t pid;
	int gate;
};

#define LAUNCHED_NONE ((struct launched){.gate = -1})

/*
 * Makes the process, which waits for a word of ours, and ends if we do before that. @l is copied
 * with it. 0 or negative errno (there is no process, or no memory).
 */
int launch_begin(const struct launch *l, struct launched *ret);
/* It executes the command. Returns LAUNCH_E_*; after _FAILED the process is gone. */
int launch_go(struct launched *launched, int *ret_error);
/* It ends instead, unless it was told to go. */
void launch_cancel(struct launched *launched);

/* Those that are meant for a command when we get them: to be blocked before it starts. */
void launch_signals(sigset_t *ret);

#endif
