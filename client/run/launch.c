/* SPDX-License-Identifier: MIT */
#include "client/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/error.h"

static void become(const struct launch *l, const char *preload)
{
	if ((preload && setenv("LD_PRELOAD", preload, 1) < 0) ||
	    setenv("PROFD_CONNECT", l->socket, 1) < 0 || setrlimit(RLIMIT_NOFILE, l->fds) < 0 ||
	    sigprocmask(SIG_SETMASK, l->mask, NULL) < 0)
		return;
	execvp(l->argv[0], l->argv);
}

int launch(const struct launch *l, pid_t *ret_pid, int *ret_error)
{
	const char *others = getenv("LD_PRELOAD");
	cleanup(freep) char *preload = NULL;
	int pipes[2], error = 0;
	ssize_t n;
	pid_t pid;

	if (l->preload && asprintf(&preload, "%s%s%s", l->preload, others && *others ? ":" : "",
				   others ? others : "") < 0)
		return error_origin(-ENOMEM);
	/* Ended by a successful execve(2). */
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return error_origin(-errno);
	pid = fork();
	if (pid < 0) {
		error = errno;
		close(pipes[0]);
		close(pipes[1]);
		return error_origin(-error);
	}
	if (pid == 0) {
		become(l, preload);
		error = errno;
		n = write(pipes[1], &error, sizeof(error));
		_exit(n == sizeof(error) ? 0 : 1);
	}
	close(pipes[1]);
	do
		n = read(pipes[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(pipes[0]);
	if (n == sizeof(error)) {
		waitpid(pid, NULL, 0);
		*ret_error = error;
		return LAUNCH_E_FAILED;
	}
	*ret_pid = pid;
	return LAUNCH_E_OK;
}
