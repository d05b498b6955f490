/* SPDX-License-Identifier: MIT */
/*
 * A process that is found has its threads listed some times: one may be born of a thread that
 * has no events yet, right behind the first listing. After that all are told.
 */
#include <stdio.h>
#include <sys/stat.h>

#include <utlist.h>

#include "common/clock.h"
#include "common/proc.h"
#include "daemon/ingest/members.h"
#include "daemon/ingest/own_tasks_private.h"

#define LISTINGS     3
#define RESET_GAP_NS (10 * NS_PER_S)

struct own_tasks_look_listing {
	struct own_tasks *tasks;
	struct own_process *process;
	bool is_first;
};

static int see_thread(void *userdata, int dir, pid_t tid)
{
	struct own_tasks_look_listing *l = userdata;
	struct own_task *task;
	int r;

	(void)dir;
	if (own_task_find(l->tasks, tid))
		return 0;
	r = own_task_make(l->tasks, l->process, tid, &task);
	if (!r)
		task->is_new = !l->is_first;
	return r;
}

/* The profiler, or a child of its that it was not told of. */
static bool is_self(struct own_tasks *t, pid_t pid)
{
	struct members *self = t->options.self;
	struct proc_stat stat;

	if (!self)
		return false;
	if (members_has(self, OWN_SAMPLER, pid))
		return true;
	if (proc_read_stat(t->options.proc_fd, pid, &stat) != PROC_E_OK ||
	    !members_has(self, OWN_SAMPLER, stat.ppid))
		return false;
	return members_add(self, OWN_SAMPLER, pid, true) == 0;
}

/* The files of a process that may not be looked into are root's (proc(5)). */
static int see_process(void *userdata, int dir, pid_t pid)
{
	struct own_tasks_look_listing *l = userdata;
	struct own_tasks *t = l->tasks;
	struct own_process *p;
	struct stat st;
	char path[32];
	int r = 0;

	snprintf(path, sizeof(path), "%d", pid);
	if (fstatat(dir, path, &st, 0) < 0 || st.st_uid != t->options.uid)
		return 0;
	p = own_process_find(t, pid);
	if (!p && is_self(t, pid))
		return 0;
	if (!p)
		r = own_process_make(t, pid, &p);
	if (r)
		return r;
	p->generation = t->generation;
	if (p->n_looks >= LISTINGS)
		return 0;
	p->n_looks++;
	l->process = p;
	snprintf(path, sizeof(path), "%d/task", pid);
	r = proc_each_number(dir, path, see_thread, l);
	return r < 0 ? r : 0;
}

/* Who is not there any more, or another's by now: what has events was told to have ended. */
static void forget_gone(struct own_tasks *t)
{
	struct own_process *p, *next;

	HASH_ITER (hh, t->processes, p, next) {
		struct process_event event = process_event_of(PROCESS_EVENT_EXIT, p->pid,
							      t->looked_ns);

		if (p->generation == t->generation)
			continue;
		own_process_drop(t, p);
		t->options.tell(t->options.userdata, &event);
	}
}

static int attach_found(struct own_tasks *t)
{
	struct own_task *task, *next;
	int r = 0;

	t->full = false;
	HASH_ITER (hh, t->tasks, task, next) {
		bool had = task->attachments[OWN_TASKS_RECORDS];

		if (r)
			break;
		if (task->is_new) {
			task->is_new = false;
			continue;
		}
		r = own_task_attach(t, task);
		t->found |= !had && task->attachments[OWN_TASKS_RECORDS] &&
			    task->tid == task->process->pid;
	}
	return r;
}

/* Events that are open for heirs only, though these could have their own for as many. */
static bool is_mostly_orphans(const struct own_tasks *t)
{
	const struct attachment *a;
	unsigned n = 0, all = 0;

	DL_FOREACH(t->attachments, a)
	{
		const struct own_task *task = own_task_find(t, a->tid);

		n += !task || task->attachments[a->kind] != a;
		all++;
	}
	return n > all / 2;
}

int own_tasks_look(struct own_tasks *t, uint64_t now_ns)
{
	struct process_event event = {.kind = PROCESS_EVENT_LOST, .time_ns = now_ns};
	struct own_tasks_look_listing l = {.tasks = t, .is_first = !t->looked_ns};
	int r;

	if ((t->lost || (t->full && is_mostly_orphans(t))) && now_ns - t->reset_ns > RESET_GAP_NS) {
		own_tasks_reset(t);
		t->lost = false;
		t->reset_ns = now_ns;
		l.is_first = true;
	}
	t->generation++;
	t->looked_ns = now_ns;
	t->found = false;
	r = proc_each_number(t->options.proc_fd, ".", see_process, &l);
	if (r < 0)
		return r;
	forget_gone(t);
	r = attach_found(t);
	if (!r && t->found && !l.is_first)
		t->options.tell(t->options.userdata, &event);
	return r;
}
