/* SPDX-License-Identifier: MIT */
/*
 * A pid is a number that the kernel gives to another process once its owner is gone. So the pidfd
 * is opened first, then /proc/PID/status is read, then the pidfd is asked whether its process
 * still lives: if it does, what was read was about it.
 *
 * A user's own processes are those that the kernel would let him look into (proc_may_look()), in
 * the group that he asks from. A program that runs with another's rights (set-user-ID,
 * set-group-ID, capabilities) is no business of the user who started it: its addresses would give
 * away its layout.
 */
#include "daemon/control/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/error.h"
#include "daemon/resolve/proc.h"

bool policy_may_control(const struct peer *peer, uid_t owner)
{
	return peer->privileged || peer->uid == owner;
}

/* The ids of a process or thread; CONTROL_ERROR_FAILED without a message if there is none. */
static int policy_read_ids(int proc_fd, pid_t id, struct proc_status *ret)
{
	int r = proc_read_status(proc_fd, id, ret);

	if (r)
		return r == PROC_E_GONE ? CONTROL_ERROR_FAILED : r;
	return ret->has_uids && ret->has_gids && ret->tgid > 0 ? 0 : error_origin(-EBADMSG);
}

/* *ret_pidfd: the process; as it is for a thread, and on errors. */
static int policy_check_process(const struct peer *peer, int proc_fd, pid_t id, bool is_thread,
				int *ret_pidfd, struct source_message *message)
{
	const char *what = is_thread ? "thread" : "process";
	pid_t tgid = id;
	cleanup(closep) int pidfd = -1;
	struct proc_status ids;
	int r;

	r = policy_read_ids(proc_fd, id, &ids);
	if (r < 0)
		return r;
	if (r == 0 && is_thread)
		tgid = ids.tgid;
	if (r == 0 && ids.tgid != tgid)
		return source_refuse(message, CONTROL_ERROR_FAILED,
				     "%d is a thread of process %d, not a process; use -t %d", id,
				     ids.tgid, id);
	if (r == 0) {
		pidfd = (int)syscall(SYS_pidfd_open, tgid, 0);
		if (pidfd < 0 && errno != ESRCH && errno != EINVAL)
			return error_origin(-errno);
		/* Again, now that the number is held: this is the one that counts. */
		r = pidfd < 0 ? CONTROL_ERROR_FAILED : policy_read_ids(proc_fd, id, &ids);
	}
	if (r < 0)
		return r;
	if (r || ids.tgid != tgid || pidfd_has_ended(pidfd))
		return source_refuse(message, CONTROL_ERROR_NOT_FOUND, "there is no %s %d", what,
				     id);
	if (!peer->privileged && (!proc_may_look(&ids, peer->uid) || ids.gids[0] != peer->gid))
		return source_refuse(
			message, CONTROL_ERROR_DENIED,
			"%s %d does not run as your user and group only; only root and members of "
			"the profd group may profile it",
			what, id);
	if (!is_thread)
		*ret_pidfd = steal_fd(&pidfd);
	return 0;
}

/* A period is a rate in disguise: only for clocks it is known how fast the events come. */
static int policy_check_rate(const Profd__Control__Start *start, struct source_message *message)
{
	static const char *const clocks[] = {"cpu-clock", "task-clock", "off-cpu", "wall"};
	const size_t length = strcspn(start->event, ":");
	bool is_clock = false;

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++)
		is_clock |= strlen(clocks[i]) == length &&
			    memcmp(clocks[i], start->event, length) == 0;
	if (!start->is_period && start->rate > POLICY_HZ_MAX)
		return source_refuse(message, CONTROL_ERROR_DENIED,
				     "without privileges, at most %d Hz", POLICY_HZ_MAX);
	if (start->is_period && !is_clock)
		return source_refuse(
			message, CONTROL_ERROR_DENIED,
			"without privileges, only cpu-clock, task-clock, off-cpu and wall "
			"can have a period; use -F");
	if (start->is_period && start->rate < UINT64_C(1000000000) / POLICY_HZ_MAX)
		return source_refuse(message, CONTROL_ERROR_DENIED,
				     "without privileges at most %d Hz: -c %d", POLICY_HZ_MAX,
				     1000000000 / POLICY_HZ_MAX);
	return 0;
}

int policy_check_start(const struct peer *peer, int proc_fd, unsigned n_sessions,
		       Profd__Control__Start *start, int *ret_pidfd, struct source_message *message)
{
	bool is_process = target_is_task(start->target);
	int r;

	if (!peer->privileged) {
		if (!is_process)
			return source_refuse(
				message, CONTROL_ERROR_DENIED,
				"without privileges, only your own processes and threads");
		if (n_sessions >= POLICY_SESSIONS_MAX)
			return source_refuse(message, CONTROL_ERROR_DENIED,
					     "you have %u sessions of at most %d; stop one first",
					     n_sessions, POLICY_SESSIONS_MAX);
		r = policy_check_rate(start, message);
		if (r)
			return r;
		start->no_kernel = true;
	}
	return is_process ? policy_check_process(peer, proc_fd, (pid_t)start->number,
						 start->target == TARGET_TID, ret_pidfd, message)
			  : 0;
}

int policy_check_attach(const struct peer *peer, int proc_fd, int *ret_pidfd,
			struct source_message *message)
{
	const struct peer alone = {.uid = peer->uid, .gid = peer->gid, .pid = peer->pid};

	/* socket(7): a peer of a namespace that is none of ours has no number here. */
	if (peer->pid <= 0)
		return source_refuse(message, CONTROL_ERROR_FAILED,
				     "the process cannot be seen from here");
	return policy_check_process(&alone, proc_fd, peer->pid, false, ret_pidfd, message);
}

int policy_check_collect(const struct peer *peer, int proc_fd,
			 const Profd__Control__Collect *collect, struct source_message *message)
{
	cleanup(closep) int pidfd = -1;

	if (peer->privileged || collect->which_case == PROFD__CONTROL__COLLECT__WHICH_SESSION)
		return 0;
	if (collect->which_case != PROFD__CONTROL__COLLECT__WHICH_PID)
		return source_refuse(
			message, CONTROL_ERROR_DENIED,
			"without privileges, only -p with a process of your own, or --session with "
			"yours");
	return policy_check_process(peer, proc_fd, (pid_t)collect->pid, false, &pidfd, message);
}
