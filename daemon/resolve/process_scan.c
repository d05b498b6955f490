/* SPDX-License-Identifier: MIT */
/* What /proc says of all processes, told as events: at the start, and after records were lost. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "daemon/resolve/proc.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/process_private.h"

struct process_scan {
	struct process_table *table;
	const struct source_sink *sink;
	uint64_t time_ns; /* of what a rescan finds */
	bool again;       /* after records were lost */
};

/* Whether what is known of @p is of another process or program than /proc shows. */
static bool is_stale(const struct process_scan *scan, const struct process *p,
		     const struct proc_stat *stat)
{
	if (!p->mappings_known && !p->kernel_thread)
		return true;
	if (!scan->again)
		return false;
	/* The name of a kernel worker ends in what it does at the moment. */
	return (!(stat->flags & PROC_STAT_KERNEL_THREAD) &&
		strncmp(p->comm, stat->comm, sizeof(p->comm) - 1) != 0) ||
	       !proc_is_process(scan->table->proc_fd, stat->pid, p->start_ns);
}

static int scan_process(struct process_scan *scan, const struct proc_stat *stat)
{
	struct process_event event = process_event_of(PROCESS_EVENT_EXEC, stat->pid, scan->time_ns);
	struct process *p = process_table_living(scan->table, stat->pid);
	int r;

	if (!p || is_stale(scan, p, stat)) {
		if (p && p->start_ns &&
		    !proc_is_process(scan->table->proc_fd, stat->pid, p->start_ns))
			process_die(scan->table, p, scan->time_ns);
		process_copy_comm(event.comm, stat->comm);
		scan->sink->process_event(scan->sink->userdata, &event);
	}
	p = process_table_living(scan->table, stat->pid);
	if (p && stat->flags & PROC_STAT_KERNEL_THREAD)
		p->kernel_thread = true;
	r = proc_emit_mappings(scan->table->proc_fd, stat->pid, scan->time_ns, scan->sink);
	if (r == PROC_E_GONE && p)
		p->mappings_known = false;
	/* The record of it may be among the lost ones. */
	if (r >= 0 && scan->again && p && !p->uid_known)
		r = process_table_confirm(scan->table, p);
	return r < 0 ? r : 0;
}

static bool scan_wants_pid(const struct process_table *t, pid_t pid)
{
	struct stat st;
	char path[32];

	if (t->only_uid == (uid_t)-1)
		return true;
	snprintf(path, sizeof(path), "%d", pid);
	return fstatat(t->proc_fd, path, &st, 0) == 0 && st.st_uid == t->only_uid;
}

void process_table_scan_only(struct process_table *t, uid_t uid)
{
	t->only_uid = t->room.self = uid;
}

static int scan_visit(void *userdata, const struct proc_stat *stat)
{
	struct process_scan *scan = userdata;
	struct slot *slot;
	int r;

	if (!scan_wants_pid(scan->table, stat->pid))
		return 0;
	if (stat->state == 'Z' && stat->n_threads <= 1)
		return 0; /* ended: not seen */
	r = scan_process(scan, stat);
	HASH_FIND_INT(scan->table->slots, &stat->pid, slot);
	if (slot)
		slot->scanned_ns = scan->time_ns;
	return r;
}

/*
 * Of one that the scan has not seen: its owner may hold up who looks at it, so a file is read
 * that waits for nobody. The kernel escapes newlines in names.
 */
static bool has_ended(const struct process_table *t, pid_t pid)
{
	cleanup(freep) char *text = NULL;
	size_t length;
	int r;

	if (!scan_wants_pid(t, pid))
		return true;
	r = proc_read_file(t->proc_fd, pid, "status", &text, &length);
	if (r)
		return r == PROC_E_GONE;
	return strstr(text, "\nState:\tZ") && strstr(text, "\nThreads:\t1\n");
}

int process_table_scan(struct process_table *t, const struct source_sink *sink)
{
	struct process_scan scan = {.table = t,
				    .sink = sink,
				    .time_ns = clock_ns(CLOCK_MONOTONIC),
				    .again = t->wants_scan};
	struct slot *slot, *next;
	int r;

	t->wants_scan = false;
	if (t->proc_fd < 0)
		return 0;
	if (scan.again)
		t->stats.rescans++;
	r = proc_each(t->proc_fd, scan_visit, &scan);

	/* After lost records: who is not there any more has ended. */
	HASH_ITER (hh, t->slots, slot, next) {
		struct process_event event = process_event_of(PROCESS_EVENT_EXIT, slot->pid,
							      scan.time_ns);

		if (!r && scan.again && slot->scanned_ns != scan.time_ns &&
		    !slot->newest->died_ns && slot->newest->born_ns < scan.time_ns &&
		    has_ended(t, slot->pid))
			sink->process_event(sink->userdata, &event);
	}
	return r;
}

int process_table_look(struct process_table *t, pid_t pid, uint64_t time_ns,
		       const struct source_sink *sink)
{
	int r;

	if (!process_table_living(t, pid))
		return 0;
	r = proc_emit_mappings(t->proc_fd, pid, time_ns, sink);
	return r < 0 ? r : 0;
}

/* It is known as the child of somebody before it is known as what it runs. */
static void emit_fork_event(struct process_table *t, const struct proc_stat *stat, uint64_t time_ns,
			    const struct source_sink *sink)
{
	struct process_event event = process_event_of(PROCESS_EVENT_FORK, stat->pid, time_ns);

	event.parent = stat->ppid;
	if (process_table_living(t, stat->ppid))
		sink->process_event(sink->userdata, &event);
}

int process_table_begin(struct process_table *t, pid_t pid, const struct source_sink *sink,
			uint64_t *ret_start_ns)
{
	struct process_event event = process_event_of(PROCESS_EVENT_EXEC, pid,
						      clock_ns(CLOCK_MONOTONIC));
	struct process *p = process_table_living(t, pid);
	struct proc_stat stat;
	uint64_t start_ns;
	int r;

	r = proc_read_stat(t->proc_fd, pid, &stat);
	if (r)
		return r < 0 ? r : PROCESS_E_GONE;
	start_ns = proc_start_ns(&stat);
	if (p && !proc_is_process(t->proc_fd, pid, p->start_ns)) {
		process_die(t, p, event.time_ns);
		p = NULL;
	}
	if (!p)
		emit_fork_event(t, &stat, event.time_ns, sink);
	process_copy_comm(event.comm, stat.comm);
	sink->process_event(sink->userdata, &event);
	*ret_start_ns = start_ns;
	p = process_table_living(t, pid);
	if (!p)
		return 0;
	p->start_ns = start_ns;
	/* Now, as the process may be gone when its first sample is here. */
	r = process_table_confirm(t, p);
	return r ? r : process_table_look(t, pid, event.time_ns, sink);
}
