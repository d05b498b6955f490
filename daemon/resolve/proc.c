/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/maps becomes the same events that the kernel's records do; status and cgroup become the
 * process's user and unit.
 */
#include "daemon/resolve/proc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/maps.h"

static uint64_t tick_ns(void)
{
	return NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t proc_start_ns(const struct proc_stat *stat)
{
	return stat->start_ticks * tick_ns();
}

struct visitor {
	int (*fn)(void *userdata, const struct proc_stat *stat);
	void *userdata;
};

static int proc_visit(void *userdata, int proc_fd, pid_t pid)
{
	const struct visitor *visitor = userdata;
	struct proc_stat stat;
	int r = proc_read_stat(proc_fd, pid, &stat);

	if (r)
		return r == PROC_E_GONE ? 0 : r;
	return visitor->fn(visitor->userdata, &stat);
}

int proc_each(int proc_fd, int (*fn)(void *userdata, const struct proc_stat *stat), void *userdata)
{
	struct visitor visitor = {.fn = fn, .userdata = userdata};
	int r = proc_each_process(proc_fd, proc_visit, &visitor);

	return r == PROC_E_GONE ? error_origin(-errno) : r;
}

bool proc_stat_is_of(const struct proc_stat *stat, uint64_t start_ns)
{
	return !start_ns || stat->start_ticks == start_ns / tick_ns();
}

bool proc_is_process(int proc_fd, pid_t pid, uint64_t start_ns)
{
	struct proc_stat stat;

	return proc_read_stat(proc_fd, pid, &stat) == PROC_E_OK && proc_stat_is_of(&stat, start_ns);
}

/* A path is taken as the kernel writes it, with a newline as \012; one that is too long is cut. */
int proc_emit_mappings(int proc_fd, pid_t pid, uint64_t time_ns, const struct source_sink *sink)
{
	cleanup(freep) char *text = NULL;
	struct maps_line line;
	char path[PATH_MAX];
	size_t length;
	int r = proc_read_file(proc_fd, pid, "maps", &text, &length);

	if (r)
		return r;
	for (const char *at = text; at < text + length; at += line.length + 1) {
		struct process_event event = process_event_of(PROCESS_EVENT_MMAP, pid, time_ns);

		if (!maps_parse(at, text + length, &line) || at[line.length] != '\n' ||
		    !(line.prot & PROT_EXEC))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)line.path_length, line.path);
		event.map.start = line.start;
		event.map.length = line.end - line.start;
		event.map.offset = line.offset;
		event.map.device_major = (uint32_t)(line.device >> 32);
		event.map.device_minor = (uint32_t)line.device;
		event.map.inode = line.inode;
		event.map.prot = line.prot;
		event.map.flags = line.flags;
		event.map.path = path[0] ? path : "//anon";
		sink->process_event(sink->userdata, &event);
	}
	return PROC_E_OK;
}

/*
 * Groups of version 1 read as the root from when a process begins to exit (kernel/cgroup/cgroup.c,
 * proc_cgroup_show()), which may be long before it is gone.
 */
static bool hides_groups(int proc_fd, pid_t pid, const struct unit *unit)
{
	struct proc_stat stat;

	if (strcmp(unit->cgroup, "/") != 0)
		return false;
	return proc_read_stat(proc_fd, pid, &stat) != PROC_E_OK || stat.flags & PROC_STAT_EXITING;
}

int proc_read_owner(int proc_fd, pid_t pid, uid_t *ret_uid, bool *ret_only)
{
	struct proc_status status;
	int r = proc_read_status(proc_fd, pid, &status);

	if (r)
		return r;
	*ret_uid = status.has_uids ? status.uids[0] : (uid_t)-1;
	*ret_only = proc_may_look(&status, *ret_uid);
	return PROC_E_OK;
}

int proc_read_unit(int proc_fd, pid_t pid, uid_t uid, struct unit *ret)
{
	cleanup(freep) char *cgroup = NULL;
	size_t length;
	int r = proc_read_file(proc_fd, pid, "cgroup", &cgroup, &length);

	if (r)
		return r;
	unit_parse(cgroup, length, uid, ret);
	if (hides_groups(proc_fd, pid, ret))
		ret->service[0] = '\0';
	return PROC_E_OK;
}
