/* SPDX-License-Identifier: MIT */
/* Reads whole files of /proc and leaves their meaning to the pure parsers of maps.c and unit.c. */
#include "daemon/resolve/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"

/* A maps file of 200,000 mappings; longer ones are cut at a line's end by the parser. */
#define FILE_BYTES_MAX (32u << 20)

/* *ret is malloc'ed and NUL-terminated. PROC_E_GONE for whatever keeps it from being read. */
static int proc_read_file_owner(int proc_fd, pid_t pid, const char *name, char **ret,
				size_t *ret_length, uid_t *ret_owner)
{
	cleanup(closep) int fd = -1;
	cleanup(freep) char *text = NULL;
	size_t length = 0, capacity = 0;
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return PROC_E_GONE;
	while (length < FILE_BYTES_MAX) {
		ssize_t n;

		if (capacity - length < 4096) {
			char *moved = realloc(text, capacity ? capacity * 2 : 16384);

			if (!moved)
				return error_origin(-ENOMEM);
			text = moved;
			capacity = capacity ? capacity * 2 : 16384;
		}
		n = read(fd, text + length, capacity - length - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return PROC_E_GONE;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	text[length] = '\0';
	*ret = steal_ptr(&text);
	*ret_length = length;
	*ret_owner = st.st_uid;
	return PROC_E_OK;
}

static int proc_read_file(int proc_fd, pid_t pid, const char *name, char **ret, size_t *ret_length)
{
	uid_t owner;

	return proc_read_file_owner(proc_fd, pid, name, ret, ret_length, &owner);
}

int proc_read_stat(int proc_fd, pid_t pid, struct maps_stat *ret)
{
	cleanup(freep) char *text = NULL;
	size_t length;
	int r;

	r = proc_read_file(proc_fd, pid, "stat", &text, &length);
	if (r)
		return r;
	return maps_parse_stat(text, length, ret) == MAPS_E_OK ? PROC_E_OK : PROC_E_GONE;
}

static uint64_t tick_ns(void)
{
	return 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t proc_start_ns(const struct maps_stat *stat)
{
	return stat->start_ticks * tick_ns();
}

int proc_each(int proc_fd, int (*fn)(void *userdata, const struct maps_stat *stat), void *userdata)
{
	/* A directory stream of its own: the caller's fd may be in use elsewhere. */
	int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int r = 0;
	DIR *dir;

	if (fd < 0)
		return error_origin(-errno);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return error_origin(-ENOMEM);
	}
	while (!r && (entry = readdir(dir))) {
		struct maps_stat stat;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		r = proc_read_stat(proc_fd, atoi(entry->d_name), &stat);
		if (r == PROC_E_OK)
			r = fn(userdata, &stat);
		else if (r == PROC_E_GONE)
			r = 0;
	}
	closedir(dir);
	return r;
}

bool proc_is_process(int proc_fd, pid_t pid, uint64_t start_ns)
{
	struct maps_stat stat;

	if (proc_read_stat(proc_fd, pid, &stat) != PROC_E_OK)
		return false;
	return !start_ns || stat.start_ticks == start_ns / tick_ns();
}

int proc_emit_mappings(int proc_fd, pid_t pid, uint64_t time_ns, const struct source_sink *sink)
{
	cleanup(freep) struct maps_line *line = NULL;
	cleanup(freep) char *text = NULL;
	struct maps_reader reader;
	size_t length;
	int r;

	r = proc_read_file(proc_fd, pid, "maps", &text, &length);
	if (r)
		return r;
	line = malloc(sizeof(*line));
	if (!line)
		return error_origin(-ENOMEM);
	maps_reader_init(&reader, text, length);
	while (maps_reader_next(&reader, line)) {
		struct process_event event = {
			.kind = PROCESS_EVENT_MMAP, .time_ns = time_ns, .pid = pid, .tid = pid};

		event.map.start = line->start;
		event.map.length = line->end - line->start;
		event.map.offset = line->offset;
		event.map.device_major = line->device_major;
		event.map.device_minor = line->device_minor;
		event.map.inode = line->inode;
		event.map.prot = line->prot;
		event.map.flags = line->flags;
		event.map.path = line->path[0] ? line->path : "//anon";
		sink->process_event(sink->userdata, &event);
	}
	return PROC_E_OK;
}

/* The first number behind a key such as "\nUid:" of /proc/PID/status (proc(5)). */
static int parse_status(const char *status, const char *key, unsigned *ret)
{
	const char *line = strstr(status, key);

	return line && sscanf(line + strlen(key), "%u", ret) == 1 ? PROC_E_OK : PROC_E_GONE;
}

int proc_thread_group(int proc_fd, pid_t tid, pid_t *ret)
{
	cleanup(freep) char *status = NULL;
	unsigned pid = 0;
	size_t length;
	int r;

	r = proc_read_file(proc_fd, tid, "status", &status, &length);
	if (!r)
		r = parse_status(status, "\nTgid:", &pid);
	if (!r)
		*ret = (pid_t)pid;
	return r;
}

enum proc_life proc_life(int proc_fd, pid_t pid)
{
	struct maps_stat stat;

	if (proc_read_stat(proc_fd, pid, &stat) != PROC_E_OK)
		return PROC_LIFE_ENDED;
	if (stat.state != 'Z' && stat.state != 'X' && !(stat.flags & MAPS_STAT_EXITING))
		return PROC_LIFE_ALIVE;
	return stat.n_threads > 1 ? PROC_LIFE_LEADER_GONE : PROC_LIFE_ENDED;
}

uid_t proc_owner(int proc_fd, pid_t pid, uid_t owner)
{
	struct dirent *entry;
	char path[300];
	struct stat st;
	int fd;
	DIR *dir;

	if (owner || proc_life(proc_fd, pid) != PROC_LIFE_LEADER_GONE)
		return owner;
	snprintf(path, sizeof(path), "%d/task", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return owner;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return owner;
	}
	while (!owner && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/status", entry->d_name);
		if (isdigit((unsigned char)entry->d_name[0]) && fstatat(fd, path, &st, 0) == 0)
			owner = st.st_uid;
	}
	closedir(dir);
	return owner;
}

/*
 * Real, effective, saved and file system uid, in the line "Uid:". The file belongs to root when the
 * process may not be dumped (proc(5)).
 */
static bool has_single_uid(const char *status, uid_t owner, uid_t *ret)
{
	const char *line = strstr(status, "\nUid:");
	unsigned ids[4];

	if (!line || sscanf(line, "\nUid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return false;
	*ret = ids[0];
	return ids[1] == ids[0] && ids[2] == ids[0] && ids[3] == ids[0] && owner == ids[0];
}

/*
 * Groups of version 1 read as the root from when a process begins to exit (kernel/cgroup/cgroup.c,
 * proc_cgroup_show()), which may be long before it is gone.
 */
static bool hides_groups(int proc_fd, pid_t pid, const struct unit *unit)
{
	struct maps_stat stat;

	if (strcmp(unit->cgroup, "/") != 0)
		return false;
	return proc_read_stat(proc_fd, pid, &stat) != PROC_E_OK || stat.flags & MAPS_STAT_EXITING;
}

int proc_read_unit(int proc_fd, pid_t pid, uid_t *ret_uid, bool *ret_only_uid, struct unit *ret)
{
	cleanup(freep) char *status = NULL, *cgroup = NULL;
	uid_t owner, uid = (uid_t)-1;
	size_t length;
	bool only;
	int r;

	r = proc_read_file_owner(proc_fd, pid, "status", &status, &length, &owner);
	if (r)
		return r;
	only = has_single_uid(status, proc_owner(proc_fd, pid, owner), &uid);
	r = proc_read_file(proc_fd, pid, "cgroup", &cgroup, &length);
	if (r)
		return r;
	unit_parse(cgroup, length, uid, ret);
	if (hides_groups(proc_fd, pid, ret))
		ret->service[0] = '\0';
	*ret_uid = uid;
	*ret_only_uid = only;
	return PROC_E_OK;
}
