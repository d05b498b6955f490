/* SPDX-License-Identifier: MIT */
/*
 * Each wait in vain is remembered, under its process and user, for FORGET_NS at least, and as long
 * as that process lives: so long a child may be stuck. A user's waits of the last FORGET_NS bound
 * how long the main thread waits because of him, and all of his waits, how many children are stuck.
 */
#include "daemon/resolve/proc_door.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/proc.h"
#include "daemon/resolve/file_opener.h"

#define FORGET_NS    (30 * NS_PER_S)
#define WAITS_MAX    48 /* remembered: of everybody */
#define WAITS_OF_UID 16
#define RECENT_MAX   4              /* of a user: 1 s of FORGET_NS */
#define AGAIN_NS     (2 * NS_PER_S) /* the first time; then eight times as long each time */

/* What is waited for: the process's lock; for what it has mapped also its memory's. */
enum proc_locks { PROC_LOCKS_NONE, PROC_LOCKS_OWN, PROC_LOCKS_ALL };

struct proc_wait {
	pid_t pid;
	enum proc_locks locks;
	uid_t uid;
	uint64_t time_ns;  /* when it ended */
	uint64_t again_ns; /* not before then */
	bool is_over;      /* it has answered since */
};

struct proc_door {
	struct proc_opener opener;
	struct file_opener *files;
	int proc_fd; /* borrowed */
	struct proc_wait waits[WAITS_MAX];
	size_t n_waits;
};

/* fs/proc/base.c and namespaces.c of Linux. */
static enum proc_locks proc_door_locks(const char *path)
{
	static const char *const names[] = {"status", "comm",    "cgroup", "mountinfo",
					    "task",   "ns/user", "ns/mnt"};
	size_t length = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (length >= n && strcmp(path + length - n, names[i]) == 0)
			return PROC_LOCKS_NONE;
	}
	return strstr(path, "map") ? PROC_LOCKS_ALL : PROC_LOCKS_OWN;
}

/* The real user, by a file that waits for nobody. */
static uid_t proc_door_user(const struct proc_door *d, pid_t pid)
{
	cleanup(freep) char *text = NULL;
	struct proc_status status;
	size_t length;

	if (proc_read_file(d->proc_fd, pid, "status", &text, &length))
		return (uid_t)-1;
	proc_parse_status(text, &status);
	return status.uids[0];
}

static void proc_door_forget(struct proc_door *d, uint64_t now_ns)
{
	for (size_t i = d->n_waits; i-- > 0;) {
		struct proc_wait *wait = &d->waits[i];

		wait->is_over |= kill(wait->pid, 0) < 0 && errno == ESRCH;
		if (wait->is_over && now_ns - wait->time_ns > FORGET_NS)
			*wait = d->waits[--d->n_waits];
	}
}

static void proc_door_note_answer(struct proc_door *d, pid_t pid, enum proc_locks locks)
{
	for (size_t i = 0; i < d->n_waits; i++)
		d->waits[i].is_over |= d->waits[i].pid == pid && d->waits[i].locks <= locks;
}

static bool proc_door_may_ask(const struct proc_door *d, pid_t pid, enum proc_locks locks,
			      uid_t uid, uint64_t now_ns)
{
	size_t n = 0, n_recent = 0;

	for (size_t i = 0; i < d->n_waits; i++) {
		const struct proc_wait *wait = &d->waits[i];

		if (wait->pid == pid && wait->locks <= locks && !wait->is_over &&
		    now_ns < wait->again_ns)
			return false;
		n += wait->uid == uid;
		n_recent += wait->uid == uid && now_ns - wait->time_ns <= FORGET_NS;
	}
	return n < WAITS_OF_UID && n_recent < RECENT_MAX && d->n_waits < WAITS_MAX;
}

static void proc_door_remember(struct proc_door *d, pid_t pid, enum proc_locks locks)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), again_ns = AGAIN_NS;
	struct proc_wait wait = {
		.pid = pid, .locks = locks, .uid = proc_door_user(d, pid), .time_ns = now_ns};

	for (size_t i = 0; i < d->n_waits; i++)
		if (d->waits[i].pid == pid)
			again_ns *= 8;
	wait.again_ns = now_ns + again_ns;
	d->waits[d->n_waits++] = wait;
}

static int proc_door_open(void *userdata, int dir_fd, pid_t id, const char *path, bool text,
			  int *ret)
{
	struct proc_door *d = userdata;
	enum proc_locks locks = proc_door_locks(path);
	int kind = text ? FILE_OPENER_TEXT : FILE_OPENER_NAME, r;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (d->n_waits && locks) {
		proc_door_forget(d, now_ns);
		if (!proc_door_may_ask(d, id, locks, proc_door_user(d, id), now_ns))
			return PROC_E_GONE;
	}
	r = file_opener_open(d->files, dir_fd, path, kind, ret);
	/*
	 * A child that somebody killed says nothing of the process: the next one is asked. So is it
	 * when one waited that had nothing to wait for but a CPU.
	 */
	if (r == FILE_OPENER_E_LOST || (r == FILE_OPENER_E_SLOW && !locks))
		r = file_opener_open(d->files, dir_fd, path, kind, ret);
	if (r == FILE_OPENER_E_SLOW && locks)
		proc_door_remember(d, id, locks);
	else if (r != FILE_OPENER_E_SLOW && r != FILE_OPENER_E_LOST)
		proc_door_note_answer(d, id, locks);
	return r ? PROC_E_GONE : PROC_E_OK;
}

int proc_door_new(struct proc_door **ret, int proc_fd)
{
	cleanup(proc_door_freep) struct proc_door *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return error_origin(-ENOMEM);
	d->proc_fd = proc_fd;
	d->opener = (struct proc_opener){proc_door_open, d};
	r = file_opener_new(&d->files, PROC_DOOR_WAIT_NS);
	if (r)
		return r;
	proc_open_by(&d->opener);
	*ret = steal_ptr(&d);
	return 0;
}

void proc_door_free(struct proc_door *d)
{
	if (!d)
		return;
	proc_open_by(NULL);
	file_opener_free(d->files);
	free(d);
}

int proc_door_open_group(struct proc_door *d, int groups_fd, uint64_t id, int *ret)
{
	return file_opener_open_group(d->files, groups_fd, id, ret);
}

int proc_door_open_file(struct proc_door *d, int root_fd, const char *path, unsigned flags,
			int *ret)
{
	return file_opener_open(d->files, root_fd, path, flags, ret);
}

size_t proc_door_held_up(struct proc_door *d, pid_t ret[PROC_DOOR_NAMED_MAX])
{
	size_t n = 0;

	proc_door_forget(d, clock_ns(CLOCK_MONOTONIC));
	for (size_t i = 0; i < d->n_waits; i++) {
		size_t first = 0;

		while (d->waits[first].pid != d->waits[i].pid)
			first++;
		if (first != i || d->waits[i].is_over)
			continue;
		if (n < PROC_DOOR_NAMED_MAX)
			ret[n] = d->waits[i].pid;
		n++;
	}
	return n;
}
