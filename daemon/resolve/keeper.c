/* SPDX-License-Identifier: MIT */
/*
 * Both children are forked without execve(2), close all descriptors but their sockets, and die
 * with their parents. A servant that was killed is not waited for: it is reaped with its
 * successor.
 */
#include "daemon/resolve/keeper.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/helper/child.h"
#include "common/helper/confine.h"
#include "common/helper/fd_packet.h"
#include "common/privileges.h"

#define FORK_FLAGS (CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | 0xff) /* and the signal */
#define REFORK_NS  NS_PER_S /* between two attempts after a loss */
#define FREE_MS    200
/* Not their end: another C library may try a newer call first. */
#define OTHER_CALLS SCMP_ACT_ERRNO(ENOSYS)

/* What a keeper does itself, and a servant before it serves; of clone(2) only what is a fork. */
static const struct confine_call keeper_calls[] = {
	CONFINE_IF(clone, CONFINE_BITS(0, ~(uint64_t)FORK_FLAGS, 0)),
	CONFINE_ANY(set_robust_list),
	CONFINE_ANY(rt_sigprocmask),
	CONFINE_ANY(getpid),
	CONFINE_ANY(getppid),
	CONFINE_ANY(gettid),
	CONFINE_ANY(kill),
	CONFINE_ANY(wait4),
	CONFINE_ANY(close_range),
	CONFINE_ANY(recvfrom),
	CONFINE_ANY(exit_group),
	CONFINE_ANY(seccomp),
	CONFINE_IF(prctl, CONFINE_IS(0, PR_SET_NAME)),
	CONFINE_IF(prctl, CONFINE_IS(0, PR_SET_PDEATHSIG)),
	CONFINE_IF(prctl, CONFINE_IS(0, PR_SET_NO_NEW_PRIVS)),
};

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

/* A kernel without such filters has nothing to confine it with. */
static void shut_in(const struct confine_filter *filter)
{
	int r = confine_enter(filter);

	if (r && r != -ENOSYS)
		_exit(1);
}

static pid_t fork_servant(const struct keeper *k, int data_fd, uint64_t first_id)
{
	pid_t keeper = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_NAME, k->job.servant_name);
	die_with(keeper);
	close_all_but(data_fd, data_fd);
	shut_in(k->servant_calls);
	k->job.serve(data_fd, first_id, k->job.memory);
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

static _Noreturn void run_keeper(const struct keeper *k, int data_fd, int control_fd)
{
	pid_t servant = fork_servant(k, data_fd, 0);
	uint64_t first_id;
	ssize_t r;

	for (;;) {
		r = recv(control_fd, &first_id, sizeof(first_id), 0);
		if (r < 0 && errno == EINTR)
			continue;
		end_servant(servant);
		if (r != (ssize_t)sizeof(first_id))
			_exit(0);
		servant = fork_servant(k, data_fd, first_id);
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
		if (privileges_keep(k->job.capabilities))
			_exit(1);
		close_all_but(data_peer, control_peer);
		shut_in(k->keeper_calls);
		run_keeper(k, data_peer, control_peer);
	}
	k->data_fd = steal_fd(&data);
	k->control_fd = steal_fd(&control);
	k->pid = pid;
	return 0;
}

int keeper_init(struct keeper *k, const struct keeper_job *job)
{
	const struct confine_table all[] = {{keeper_calls, ARRAY_SIZE(keeper_calls)}, *job->calls};
	int r;

	*k = (struct keeper){.job = *job, .data_fd = -1, .control_fd = -1};
	/* A filter is also its children's. */
	r = confine_compile(&k->keeper_calls, all, ARRAY_SIZE(all), OTHER_CALLS)
		    ?: confine_compile(&k->servant_calls, &all[1], 1, OTHER_CALLS);
	return r ? r : fork_keeper(k);
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
	confine_filter_freep(&k->keeper_calls);
	confine_filter_freep(&k->servant_calls);
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

bool keeper_send(struct keeper *k, const void *request, size_t length, const int *fds, size_t n_fds)
{
	if (k->data_fd < 0)
		keeper_refork(k, clock_ns(CLOCK_MONOTONIC));
	if (k->data_fd < 0)
		return false;
	if (!fd_packet_send(k->data_fd, request, length, fds, n_fds, MSG_DONTWAIT))
		return true;
	keeper_lose(k);
	return false;
}

bool keeper_is_confined(void)
{
	return confine_is_available();
}
