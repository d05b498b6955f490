/* SPDX-License-Identifier: MIT */
/* Reads whole files of /proc, each at once, and parses them by pure functions. */
#include "common/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/read_end.h"

/* A maps file of 200,000 mappings; a process chooses how many it has, and how long their paths. */
#define FILE_BYTES_MAX (32u << 20)

/* PROC_PID_INIT_INO of include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

/* What a process that is gone, or may not be looked at, gives is no error of ours. */
static int proc_read_error(int r)
{
	return r == EMFILE || r == ENFILE ? error_origin(-r) : r > 0 ? PROC_E_GONE : r;
}

static _Thread_local const struct proc_opener *thread_opener;

void proc_open_by(const struct proc_opener *opener)
{
	thread_opener = opener;
}

int proc_open_name(int dir_fd, pid_t id, const char *path, int *ret)
{
	if (thread_opener)
		return thread_opener->open(thread_opener->userdata, dir_fd, id, path, false, ret);
	*ret = openat(dir_fd, path, O_PATH | O_CLOEXEC);
	return *ret < 0 ? proc_read_error(error_outcome(errno)) : PROC_E_OK;
}

int proc_read_text(int dir_fd, pid_t id, const char *path, char **ret, size_t *ret_length)
{
	cleanup(closep) int fd = -1;
	uint8_t *text;
	int r;

	if (!thread_opener)
		return proc_read_error(
			read_start_text(dir_fd, path, FILE_BYTES_MAX, ret, ret_length));
	r = thread_opener->open(thread_opener->userdata, dir_fd, id, path, true, &fd);
	if (r)
		return r;
	r = read_end(fd, FILE_BYTES_MAX, &text, ret_length);
	if (!r)
		*ret = (char *)text;
	return proc_read_error(r);
}

int proc_read_file(int proc_fd, pid_t id, const char *name, char **ret, size_t *ret_length)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", id, name);
	return proc_read_text(proc_fd, id, path, ret, ret_length);
}

static int proc_each_number(int dir_fd, const char *path, proc_each_fn fn, void *userdata)
{
	/* A stream of its own: the caller's descriptor may be in use elsewhere. */
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return PROC_E_GONE;
	if (!dir) {
		close(fd);
		return error_origin(-ENOMEM);
	}
	while (!r && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = fn(userdata, fd, atoi(entry->d_name));
	closedir(dir);
	return r;
}

int proc_each_process(int proc_fd, proc_each_fn fn, void *userdata)
{
	return proc_each_number(proc_fd, ".", fn, userdata);
}

int proc_each_thread(int proc_fd, pid_t pid, proc_each_fn fn, void *userdata)
{
	cleanup(closep) int fd = -1;
	cleanup(freep) char *text = NULL;
	char path[32], *at, *line;
	size_t length;
	int r;

	snprintf(path, sizeof(path), "%d/task", pid);
	if (!thread_opener)
		return proc_each_number(proc_fd, path, fn, userdata);
	r = proc_open_name(proc_fd, pid, path, &fd);
	if (!r)
		r = proc_read_text(proc_fd, pid, path, &text, &length);
	for (at = text; !r && (line = strsep(&at, "\n")) && *line;)
		r = fn(userdata, fd, atoi(line));
	return r;
}

/*
 * "pid (comm) state ppid ..." with flags as field 9, the CPU time of children that were waited
 * for as fields 16 and 17, the number of threads as field 20 and the start time as field 22. comm
 * may hold blanks, parentheses and newlines; no later field holds a parenthesis, so the last one
 * ends it.
 */
int proc_parse_stat(const char *text, struct proc_stat *ret)
{
	const char *comm = strchr(text, '('), *comm_end = strrchr(text, ')');
	uint64_t user, kernel;

	if (!comm || !comm_end || comm_end < comm || sscanf(text, "%d", &ret->pid) != 1 ||
	    sscanf(comm_end + 1,
		   " %c %d %*s %*s %*s %*s %" SCNu32 " %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64
		   " %*s %*s %" SCNu32 " %*s %" SCNu64,
		   &ret->state, &ret->ppid, &ret->flags, &user, &kernel, &ret->n_threads,
		   &ret->start_ticks) != 7)
		return PROC_E_GONE;
	ret->ended_ticks = user + kernel;
	snprintf(ret->comm, sizeof(ret->comm), "%.*s", (int)(comm_end - comm - 1), comm + 1);
	return PROC_E_OK;
}

int proc_read_stat(int proc_fd, pid_t id, struct proc_stat *ret)
{
	cleanup(freep) char *text = NULL;
	size_t length;

	return proc_read_file(proc_fd, id, "stat", &text, &length) ?: proc_parse_stat(text, ret);
}

enum proc_life proc_life(int proc_fd, pid_t pid)
{
	struct proc_stat stat;

	if (proc_read_stat(proc_fd, pid, &stat) != PROC_E_OK)
		return PROC_LIFE_ENDED;
	if (stat.state != 'Z' && stat.state != 'X' && !(stat.flags & PROC_STAT_EXITING))
		return PROC_LIFE_ALIVE;
	return stat.n_threads > 1 ? PROC_LIFE_LEADER_GONE : PROC_LIFE_ENDED;
}

/* A status file of a thread: whose it is, to *userdata, if it is not root's. */
static int proc_note_owner(void *userdata, int task_fd, pid_t tid)
{
	uid_t *owner = userdata;
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "%d/status", tid);
	if (!*owner && fstatat(task_fd, path, &st, 0) == 0)
		*owner = st.st_uid;
	return 0;
}

/*
 * Who may look into @pid, whose status file belongs to @owner: a first thread that has ended has no
 * memory any more, and its files are root's; then another thread's tell.
 */
static uid_t proc_owner(int proc_fd, pid_t pid, uid_t owner)
{
	if (!owner && proc_life(proc_fd, pid) == PROC_LIFE_LEADER_GONE)
		proc_each_thread(proc_fd, pid, proc_note_owner, &owner);
	return owner;
}

/* What follows @key at the beginning of a line. */
static const char *status_find(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, key, length) == 0)
			return text + length;
	}
	return "";
}

static bool status_parse_ids(const char *at, uint32_t ids[4])
{
	return sscanf(at, "%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu32, &ids[0], &ids[1], &ids[2],
		      &ids[3]) == 4;
}

/* The name, which the process chooses, comes first, with newlines escaped by the kernel. */
void proc_parse_status(const char *text, struct proc_status *ret)
{
	const char *pids = status_find(text, "NSpid:");
	int length;

	*ret = (struct proc_status){0};
	if (!*pids)
		pids = status_find(text, "Pid:");
	for (; sscanf(pids, "%d%n", &ret->inner_pid, &length) == 1; pids += length)
		;
	sscanf(status_find(text, "Tgid:"), "%d", &ret->tgid);
	ret->has_uids = status_parse_ids(status_find(text, "Uid:"), ret->uids);
	ret->has_gids = status_parse_ids(status_find(text, "Gid:"), ret->gids);
	ret->namespace_owner = (uid_t)-1;
	/* One that does not say so may have them all. */
	if (sscanf(status_find(text, "CapPrm:"), "%" SCNx64, &ret->capabilities) != 1)
		ret->capabilities = UINT64_MAX;
}

/*
 * "self" leads nowhere for a process that is not in the /proc's namespace; in one around the
 * process's own, it has another number there than in its own.
 */
enum proc_pids proc_pids(int proc_fd)
{
	cleanup(freep) char *text = NULL;
	struct proc_status status;
	struct stat st;
	size_t length;

	if (read_start_text(proc_fd, "self/status", FILE_BYTES_MAX, &text, &length))
		return PROC_PIDS_FOREIGN;
	proc_parse_status(text, &status);
	if (status.tgid != status.inner_pid)
		return PROC_PIDS_FOREIGN;
	/* Not there: the kernel has no pid namespaces. */
	if (fstatat(proc_fd, "self/ns/pid", &st, 0) < 0 || st.st_ino == INITIAL_PID_NAMESPACE)
		return PROC_PIDS_INITIAL;
	return PROC_PIDS_INNER;
}

static bool proc_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * The user namespace that is a child of our own, @own, and @fd (taken over) or around it: its owner
 * may look into all below. -1: @fd is not below ours. ioctl_ns(2)
 */
static int proc_namespace_below(int fd, const struct stat *own)
{
	struct stat st;
	int parent;

	while ((parent = ioctl(fd, NS_GET_PARENT)) >= 0) {
		if (fstat(parent, &st) == 0 && proc_is_same_file(&st, own)) {
			close(parent);
			return fd;
		}
		close(fd);
		fd = parent;
	}
	close(fd);
	return -1;
}

/* The namespace itself is named, which is opened by our own /proc. */
static void proc_read_namespace(int dir_fd, pid_t id, struct proc_status *ret)
{
	cleanup(closep) int named = -1, fd = -1;
	struct stat own, st;
	char path[32];
	uid_t owner;

	/* Not there: the kernel has no such namespaces. */
	ret->in_own_namespace = stat("/proc/self/ns/user", &own) < 0;
	if (ret->in_own_namespace || proc_open_name(dir_fd, id, "ns/user", &named))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", named);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	ret->in_own_namespace = proc_is_same_file(&st, &own);
	if (!ret->in_own_namespace)
		fd = proc_namespace_below(steal_fd(&fd), &own);
	if (fd >= 0 && ioctl(fd, NS_GET_OWNER_UID, &owner) == 0)
		ret->namespace_owner = owner;
}

/* The process's directory holds on to it: all that is read is of the same one. */
int proc_read_status(int proc_fd, pid_t id, struct proc_status *ret)
{
	cleanup(closep) int dir_fd = -1;
	cleanup(freep) char *text = NULL;
	struct stat st;
	size_t length;
	char path[32];
	int r;

	snprintf(path, sizeof(path), "%d", id);
	dir_fd = openat(proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return proc_read_error(error_outcome(errno));
	r = proc_read_text(dir_fd, id, "status", &text, &length);
	if (r)
		return r;
	if (fstatat(dir_fd, "status", &st, 0) < 0)
		return PROC_E_GONE;
	proc_parse_status(text, ret);
	ret->owner = proc_owner(proc_fd, id, st.st_uid);
	proc_read_namespace(dir_fd, id, ret);
	return PROC_E_OK;
}

bool proc_may_look(const struct proc_status *status, uid_t uid)
{
	if (!status->has_uids || !status->has_gids || status->owner != uid)
		return false;
	for (int i = 0; i < 4; i++)
		if (status->uids[i] != uid || status->gids[i] != status->gids[0])
			return false;
	return status->namespace_owner == uid ||
	       (status->in_own_namespace && !status->capabilities);
}

bool pidfd_has_ended(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) == 1;
}
