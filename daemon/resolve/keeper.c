/* SPDX-License-Identifier: MIT */
/*
 * Both children are forked without execve(2), close all descriptors but their sockets, and die
 * with their parents. A servant that was killed is not waited for: it is reaped with its
 * successor.
 */
#include "daemon/resolve/keeper.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/helper/child.h"
#include "daemon/ingest/perf_admin.h"

#define REFORK_NS NS_PER_S /* between two attempts after a loss */
#define FREE_MS   200

/* --- the children ------------------------------------------------------------------------------
 */

/* From here to the end of this part: async-signal-safe, and no way back into profd. */

static void close_all_but(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	if (low > 0)
		close_range(0, (unsigned)low - 1, 0);
	if (high - low > 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0u, 0);
}

/* Ends with @parent, which may have ended already. */
static void die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
}

static pid_t fork_servant(const struct keeper_job *job, int data_fd, uint64_t first_id)
{
	pid_t keeper = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_NAME, job->servant_name);
	die_with(keeper);
	close_all_but(data_fd, data_fd);
	job->serve(data_fd, first_id, job->memory);
	_exit(0);
}

/*
 * A servant is reaped only right after it was killed: until then its number is its own. One that
 * does not end at once is reaped with its successor.
 */
static void end_servant(pid_t pid)
{
	if (pid > 0)
		kill(pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static _Noreturn void run_keeper(const struct keeper_job *job, int data_fd, int control_fd)
{
	pid_t servant = fork_servant(job, data_fd, 0);
	uint64_t first_id;
	ssize_t r;

	for (;;) {
		r = recv(control_fd, &first_id, sizeof(first_id), 0);
		if (r < 0 && errno == EINTR)
			continue;
		end_servant(servant);
		if (r != (ssize_t)sizeof(first_id))
			_exit(0);
		servant = fork_servant(job, data_fd, first_id);
	}
}

/* --- profd's side ------------------------------------------------------------------------------
 */

static int fork_keeper(struct keeper *k)
{
	cleanup(closep) int data = -1, data_peer = -1, control = -1, control_peer = -1;
	pid_t parent = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	data = ends[0];
	data_peer = ends[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	control = ends[0];
	control_peer = ends[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		prctl(PR_SET_NAME, k->job.keeper_name);
		signal(SIGCHLD, SIG_DFL);
		die_with(parent);
		if (perf_admin_drop())
			_exit(1);
		close_all_but(data_peer, control_peer);
		run_keeper(&k->job, data_peer, control_peer);
	}
	k->data_fd = steal_fd(&data);
	k->control_fd = steal_fd(&control);
	k->pid = pid;
	return 0;
}

int keeper_init(struct keeper *k, const struct keeper_job *job)
{
	*k = (struct keeper){.job = *job, .data_fd = -1, .control_fd = -1};
	return fork_keeper(k);
}

/* The keeper, whose sockets are closed, ends by itself; if not, it is made to. */
static void keeper_await_end(pid_t keeper)
{
	struct child child = child_of(keeper);
	int status;

	if (child_reap(&child, FREE_MS, &status))
		return;
	kill(keeper, SIGKILL);
	child_reap(&child, INT_MAX, &status);
}

void keeper_deinit(struct keeper *k)
{
	/* Said aloud: others may have been forked, and hold copies. */
	if (k->control_fd >= 0)
		shutdown(k->control_fd, SHUT_RDWR);
	keeper_lose(k);
	if (k->pid > 0)
		keeper_await_end(k->pid);
	k->pid = 0;
}

bool keeper_replace(struct keeper *k, uint64_t first_id)
{
	if (send(k->control_fd, &first_id, sizeof(first_id), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	keeper_lose(k);
	return false;
}

void keeper_lose(struct keeper *k)
{
	closep(&k->data_fd);
	closep(&k->control_fd);
	k->data_fd = k->control_fd = -1;
}

void keeper_refork(struct keeper *k, uint64_t now_ns)
{
	if (k->pid > 0) {
		kill(k->pid, SIGKILL);
		if (waitpid(k->pid, NULL, WNOHANG) == 0)
			return;
		k->pid = 0;
	}
	if (k->lost_ns && now_ns - k->lost_ns < REFORK_NS)
		return;
	k->lost_ns = now_ns;
	fork_keeper(k);
}
