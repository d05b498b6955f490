/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/proc_door.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/proc.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/held_up.h"

struct proc_door {
	struct proc_opener opener;
	struct file_opener *files;
	int proc_fd; /* borrowed */
	struct held_up held_up;
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

static int proc_door_open(void *userdata, int dir_fd, pid_t id, const char *path, bool text,
			  int *ret)
{
	struct proc_door *d = userdata;
	enum proc_locks locks = proc_door_locks(path);
	int kind = text ? FILE_OPENER_TEXT : FILE_OPENER_NAME, r;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (d->held_up.n_waits && locks) {
		held_up_forget(&d->held_up, now_ns);
		if (!held_up_may_ask(&d->held_up, id, locks, proc_door_user(d, id), now_ns))
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
		held_up_note_wait(&d->held_up, id, locks, proc_door_user(d, id),
				  clock_ns(CLOCK_MONOTONIC));
	else if (r != FILE_OPENER_E_SLOW && r != FILE_OPENER_E_LOST)
		held_up_note_answer(&d->held_up, id, locks);
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
	const struct proc_wait *waits = d->held_up.waits;
	size_t n = 0;

	held_up_forget(&d->held_up, clock_ns(CLOCK_MONOTONIC));
	for (size_t i = 0; i < d->held_up.n_waits; i++) {
		size_t first = 0;

		while (waits[first].pid != waits[i].pid)
			first++;
		if (first != i || waits[i].is_over)
			continue;
		if (n < PROC_DOOR_NAMED_MAX)
			ret[n] = waits[i].pid;
		n++;
	}
	return n;
}
