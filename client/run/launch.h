/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_LAUNCH_H
#define PROFD_RUN_LAUNCH_H

/* Starting a command as if nobody stood between it and who asked for it. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

struct launch {
	char *const *argv;        /* NULL behind the last; argv[0] as execvp(3) takes it */
	const char *preload;      /* put before what LD_PRELOAD names; NULL: not */
	const char *socket;       /* for PROFD_CONNECT */
	const sigset_t *mask;     /* of signals, as it was */
	const struct rlimit *fds; /* RLIMIT_NOFILE, as it was */
};

enum {
	LAUNCH_E_OK,
	LAUNCH_E_FAILED, /* it cannot be executed: *ret_error says why */
};

/* Returns LAUNCH_E_* or negative errno (there is no process, or no memory). */
int launch(const struct launch *l, pid_t *ret_pid, int *ret_error);

#endif
