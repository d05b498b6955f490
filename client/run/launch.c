/* SPDX-License-Identifier: MIT */
#include "client/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/error.h"

static void launch_exec(const struct launch *l, const char *preload, int gate)
{
	char word;

	if (read(gate, &word, 1) != 1)
		_exit(1);
	if ((preload && setenv("LD_PRELOAD", preload, 1) < 0) ||
	    (l->socket && setenv("PROFD_CONNECT", l->socket, 1) < 0) ||
	    setrlimit(RLIMIT_NOFILE, l->fds) < 0 || sigprocmask(SIG_SETMASK, l->mask, NULL) < 0)
		return;
	execvp(l->argv[0], l->argv);
}

/* Both pairs, or neither. */
static int make_pairs(int gate[2], int outcome[2])
{
	int error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
		return error_origin(-errno);
	if (pipe2(outcome, O_CLOEXEC) == 0)
		return 0;
	error = errno;
	close(gate[0]);
	close(gate[1]);
	return error_origin(-error);
}

int launch_begin(const struct launch *l, struct launched *ret)
{
	const char *others = getenv("LD_PRELOAD");
	cleanup(freep) char *preload = NULL;
	/* The second is ended by a successful execve(2). */
	int gate[2], outcome[2], error, r;
	ssize_t n;
	pid_t pid;

	if (l->preload && asprintf(&preload, "%s%s%s", l->preload, others && *others ? ":" : "",
				   others ? others : "") < 0)
		return error_origin(-ENOMEM);
	r = make_pairs(gate, outcome);
	if (r)
		return r;
	pid = fork();
	error = errno;
	if (pid == 0) {
		close(gate[1]);
		launch_exec(l, preload, gate[0]);
		error = errno;
		n = write(outcome[1], &error, sizeof(error));
		_exit(n == sizeof(error) ? 0 : 1);
	}
	close(gate[0]);
	close(outcome[1]);
	if (pid < 0) {
		close(gate[1]);
		close(outcome[0]);
		return error_origin(-error);
	}
	*ret = (struct launched){pid, gate[1], outcome[0]};
	return 0;
}

int launch_go(struct launched *launched, int *ret_error)
{
	int error = 0;
	/* Somebody may have killed it. */
	ssize_t n = send(launched->gate, "", 1, MSG_NOSIGNAL);

	close(steal_fd(&launched->gate));
	do
		n = read(launched->outcome, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(steal_fd(&launched->outcome));
	if (n != sizeof(error))
		return LAUNCH_E_OK;
	waitpid(launched->pid, NULL, 0);
	*ret_error = error;
	return LAUNCH_E_FAILED;
}

void launch_cancel(struct launched *launched)
{
	if (launched->gate < 0)
		return;
	close(steal_fd(&launched->gate));
	close(steal_fd(&launched->outcome));
	waitpid(launched->pid, NULL, 0);
}

void launch_signals(sigset_t *ret)
{
	static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(ret, numbers[i]);
}

int launch_command(const struct launch *l, pid_t *ret_pid, int *ret_error)
{
	struct launched launched;
	int r = launch_begin(l, &launched);

	if (!r)
		r = launch_go(&launched, ret_error);
	if (!r)
		*ret_pid = launched.pid;
	return r;
}
