/* SPDX-License-Identifier: MIT */
/*
 * The process is forked before the command is executed, and waits at the gate, a socket, so that
 * its pid is known in time. Through the gate comes back why the command cannot be executed; where
 * it can, execve(2) has closed it.
 */
#include "client/run/launch.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/text_print.h"

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

int launch_begin(const struct launch *l, struct launched *ret)
{
	const char *others = getenv("LD_PRELOAD");
	cleanup(freep) char *preload = NULL;
	cleanup(closep) int gate = -1, gate_peer = -1;
	int ends[2], error;
	ssize_t n;
	pid_t pid;

	if (l->preload && text_print(&preload, "%s%s%s", l->preload, others && *others ? ":" : "",
				     others ? others : ""))
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_origin(-errno);
	gate_peer = ends[0];
	gate = ends[1];
	pid = fork();
	if (pid < 0)
		return error_origin(-errno);
	if (pid == 0) {
		close(gate);
		launch_exec(l, preload, gate_peer);
		error = errno;
		n = send(gate_peer, &error, sizeof(error), MSG_NOSIGNAL);
		_exit(n == sizeof(error) ? 0 : 1);
	}
	*ret = (struct launched){pid, steal_fd(&gate)};
	return 0;
}

int launch_go(struct launched *launched, int *ret_error)
{
	int error = 0;
	/* Somebody may have killed it. */
	ssize_t n = send(launched->gate, "", 1, MSG_NOSIGNAL);

	do
		n = read(launched->gate, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(steal_fd(&launched->gate));
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
	waitpid(launched->pid, NULL, 0);
}

void launch_signals(sigset_t *ret)
{
	static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(ret, numbers[i]);
}
