/* SPDX-License-Identifier: MIT */
/*
 * What /proc says of all processes, told as events: at the start, and after records were lost.
 * First those that are in /proc are visited, then those that are known and were not seen. On a busy
 * machine each answer to a question about one (proc.h) may take as long as a turn of the scheduler,
 * so a scan is done in parts.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/room.h"
#include "daemon/resolve/proc.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/process_private.h"

struct process_scan {
	struct process_table *table;
	const struct source_sink *sink;
	uint64_t began_ns; /* which marks what it has seen */
	uint64_t time_ns;  /* of what is found now */
	bool again;        /* after records were lost */
	bool visits;       /* what is in /proc; else what was not seen there */
	pid_t *pids;       /* that are left to do, the last one first */
	size_t n_pids, pids_allocated;
};

void process_scan_free(struct process_scan *scan)
{
	if (!scan)
		return;
	free(scan->pids);
	free(scan);
}
DEFINE_CLEANUP(struct process_scan *, process_scan_free)

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
	       !proc_stat_is_of(stat, p->start_ns);
}

static int scan_process(struct process_scan *scan, const struct proc_stat *stat)
{
	struct process_event event = process_event_of(PROCESS_EVENT_EXEC, stat->pid, scan->time_ns);
	struct process *p = process_table_living(scan->table, stat->pid);
	int r;

	if (!p || is_stale(scan, p, stat)) {
		if (p && !proc_stat_is_of(stat, p->start_ns))
			process_die(scan->table, p, scan->time_ns);
		process_copy_comm(event.comm, stat->comm);
		scan->sink->process_event(scan->sink->userdata, &event);
	}
	p = process_table_living(scan->table, stat->pid);
	if (stat->flags & PROC_STAT_KERNEL_THREAD) {
		if (p)
			p->kernel_thread = true;
		return 0;
	}
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

static int scan_visit(struct process_scan *scan, pid_t pid)
{
	struct proc_stat stat;
	struct slot *slot;
	int r = proc_read_stat(scan->table->proc_fd, pid, &stat);

	if (r)
		return r == PROC_E_GONE ? 0 : r;
	if (!scan_wants_pid(scan->table, pid))
		return 0;
	if (stat.state == 'Z' && stat.n_threads <= 1)
		return 0; /* ended: not seen */
	r = scan_process(scan, &stat);
	HASH_FIND_INT(scan->table->slots, &pid, slot);
	if (slot)
		slot->scanned_ns = scan->began_ns;
	return r;
}

/* A look-up in /proc waits for nobody. */
static bool is_in_proc(const struct process_table *t, pid_t pid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "%d", pid);
	return fstatat(t->proc_fd, path, &st, 0) == 0 || errno != ENOENT;
}

/*
 * Of one that the scan has not seen: its owner may hold up who looks at it, so a file is read
 * that waits for nobody. The kernel escapes newlines in names. After a storm of short processes
 * there are tens of thousands, of which nothing is there any more: these cost no question.
 */
static bool has_ended(const struct process_table *t, pid_t pid)
{
	cleanup(freep) char *text = NULL;
	size_t length;

	if (!is_in_proc(t, pid) || !scan_wants_pid(t, pid))
		return true;
	if (proc_read_file(t->proc_fd, pid, "status", &text, &length))
		return kill(pid, 0) < 0 && errno == ESRCH;
	return strstr(text, "\nState:\tZ") && strstr(text, "\nThreads:\t1\n");
}

static int scan_note(void *userdata, int proc_fd, pid_t pid)
{
	struct process_scan *scan = userdata;

	(void)proc_fd;
	return room_append(&scan->pids, &scan->pids_allocated, &scan->n_pids, pid);
}

static bool scan_misses(const struct process_scan *scan, const struct slot *slot)
{
	return slot->scanned_ns != scan->began_ns && !slot->newest->died_ns &&
	       slot->newest->born_ns < scan->began_ns;
}

/* After lost records: what is not there any more has ended. */
static void scan_judge(struct process_scan *scan, pid_t pid)
{
	struct process_event event = process_event_of(PROCESS_EVENT_EXIT, pid, scan->time_ns);
	struct slot *slot;

	HASH_FIND_INT(scan->table->slots, &pid, slot);
	if (slot && scan_misses(scan, slot) && has_ended(scan->table, pid))
		scan->sink->process_event(scan->sink->userdata, &event);
}

static int scan_begin(struct process_table *t, struct process_scan **ret)
{
	cleanup(process_scan_freep) struct process_scan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan)
		return error_origin(-ENOMEM);
	scan->table = t;
	scan->began_ns = clock_ns(CLOCK_MONOTONIC);
	scan->again = t->wants_scan;
	scan->visits = true;
	t->wants_scan = false;
	t->stats.rescans += scan->again;
	r = proc_each_process(t->proc_fd, scan_note, scan);
	if (r)
		return r == PROC_E_GONE ? error_origin(-errno) : r;
	*ret = steal_ptr(&scan);
	return 0;
}

/* All in /proc were visited: those that are left are the ones that were not there. */
static int scan_turn(struct process_scan *scan)
{
	struct slot *slot, *next;
	int r = 0;

	scan->visits = false;
	HASH_ITER (hh, scan->table->slots, slot, next)
		if (!r && scan->again && scan_misses(scan, slot))
			r = room_append(&scan->pids, &scan->pids_allocated, &scan->n_pids,
					slot->pid);
	return r;
}

/* Until it is done, or it is @until_ns: then PROCESS_E_MORE. */
static int scan_go_on(struct process_scan *scan, uint64_t until_ns)
{
	int r = 0;

	do {
		pid_t pid;

		if (!scan->n_pids && scan->visits)
			r = scan_turn(scan);
		if (r || !scan->n_pids)
			return r;
		scan->time_ns = clock_ns(CLOCK_MONOTONIC);
		pid = scan->pids[--scan->n_pids];
		if (scan->visits)
			r = scan_visit(scan, pid);
		else
			scan_judge(scan, pid);
	} while (!r && scan->time_ns < until_ns);
	return r ?: PROCESS_E_MORE;
}

int process_table_scan_part(struct process_table *t, const struct source_sink *sink,
			    uint64_t until_ns)
{
	int r;

	if (t->proc_fd < 0) {
		t->wants_scan = false;
		return 0;
	}
	r = t->scan ? 0 : scan_begin(t, &t->scan);
	if (r)
		return r;
	t->scan->sink = sink;
	r = scan_go_on(t->scan, until_ns);
	if (r != PROCESS_E_MORE)
		process_scan_free(steal_ptr(&t->scan));
	return r;
}

int process_table_scan(struct process_table *t, const struct source_sink *sink)
{
	return process_table_scan_part(t, sink, UINT64_MAX);
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
