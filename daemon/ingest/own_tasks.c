/* SPDX-License-Identifier: MIT */
/*
 * Threads by number, each with an attachment for each kind (own_events.h): events that were opened
 * on it, or on an ancestor of which it inherited them.
 *
 * A process that is found has its threads listed some times: one may be born of a thread that
 * has no events yet, right behind the first listing. After that all are told.
 */
#include "daemon/ingest/own_tasks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <uthash.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/proc.h"

/* A birth is told a while after the events were inherited (kernel/fork.c, copy_process()). */
#define BIRTH_NS     (10 * NS_PER_MS)
#define LISTINGS     3
#define RESET_GAP_NS (10 * NS_PER_S)

struct own_process {
	pid_t pid;
	unsigned n_tasks;
	unsigned n_looks;    /* how often its threads were listed */
	uint64_t generation; /* the last look at which it was there */
	UT_hash_handle hh;
};

struct own_task {
	pid_t tid;
	struct own_process *process;
	bool is_new;      /* found in /proc: a record may still tell of it */
	bool is_missed;   /* counted as unattached */
	uint32_t refused; /* kinds: a bit each */
	struct attachment *attachments[OWN_TASKS_KINDS];
	UT_hash_handle hh;
};

struct own_kind {
	bool active;
	unsigned n_tasks;
};

struct own_tasks {
	struct own_tasks_options options;
	struct own_events events;
	struct own_kind kinds[OWN_TASKS_KINDS];
	struct own_process *processes;
	struct own_task *tasks;
	uint64_t generation, looked_ns, reset_ns;
	bool is_first;              /* look after a reset */
	struct own_process *listed; /* whose threads are being listed */
	bool lost;                  /* records: who inherited what is not known any more */
	bool full;                  /* an event could not be opened for lack of room */
	bool found; /* a process without a record was attached since the last look */
	uint64_t n_unattached;
};

int own_tasks_new(struct own_tasks **ret, const struct own_tasks_options *options)
{
	struct own_tasks *t = calloc(1, sizeof(*t));

	if (!t)
		return error_origin(-ENOMEM);
	t->options = *options;
	t->events.ring = options->ring;
	t->events.userdata = options->userdata;
	*ret = t;
	return 0;
}

/* Tasks and processes. */

static struct own_process *own_process_find(const struct own_tasks *t, pid_t pid)
{
	struct own_process *p;

	HASH_FIND_INT(t->processes, &pid, p);
	return p;
}

static int own_process_make(struct own_tasks *t, pid_t pid, struct own_process **ret)
{
	struct own_process *p = calloc(1, sizeof(*p));

	if (!p)
		return error_origin(-ENOMEM);
	p->pid = pid;
	p->generation = t->generation;
	HASH_ADD_INT(t->processes, pid, p);
	*ret = p;
	return 0;
}

static struct own_task *own_task_find(const struct own_tasks *t, pid_t tid)
{
	struct own_task *task;

	HASH_FIND_INT(t->tasks, &tid, task);
	return task;
}

static int own_task_make(struct own_tasks *t, struct own_process *p, pid_t tid,
			 struct own_task **ret)
{
	struct own_task *task = calloc(1, sizeof(*task));

	if (!task)
		return error_origin(-ENOMEM);
	task->tid = tid;
	task->process = p;
	p->n_tasks++;
	HASH_ADD_INT(t->tasks, tid, task);
	*ret = task;
	return 0;
}

static void own_task_set_attachment(struct own_tasks *t, struct own_task *task,
				    struct attachment *a)
{
	task->attachments[a->kind] = a;
	t->kinds[a->kind].n_tasks++;
}

static void detach_kind(struct own_tasks *t, struct own_task *task, unsigned kind)
{
	struct attachment *a = task->attachments[kind];

	if (!a)
		return;
	task->attachments[kind] = NULL;
	t->kinds[kind].n_tasks--;
	attachment_unref(&t->events, a);
}

/* The process goes with its last thread. */
static void own_process_unref(struct own_tasks *t, struct own_process *p)
{
	if (--p->n_tasks)
		return;
	HASH_DEL(t->processes, p);
	free(p);
}

static void own_task_drop(struct own_tasks *t, struct own_task *task)
{
	for (unsigned kind = 0; kind < OWN_TASKS_KINDS; kind++)
		detach_kind(t, task, kind);
	HASH_DEL(t->tasks, task);
	own_process_unref(t, task->process);
	free(task);
}

/* It may have no threads. */
static void own_process_drop(struct own_tasks *t, struct own_process *p)
{
	struct own_task *task, *next;

	p->n_tasks++;
	HASH_ITER (hh, t->tasks, task, next)
		if (task->process == p)
			own_task_drop(t, task);
	own_process_unref(t, p);
}

/* Closes all events and forgets all threads. */
static void own_tasks_reset(struct own_tasks *t)
{
	struct own_process *p, *next;
	struct own_task *task, *next_task;

	HASH_ITER (hh, t->tasks, task, next_task)
		own_task_drop(t, task);
	HASH_ITER (hh, t->processes, p, next)
		own_process_drop(t, p);
}

void own_tasks_free(struct own_tasks *t)
{
	if (!t)
		return;
	own_tasks_reset(t);
	own_events_deinit(&t->events);
	free(t);
}

static void own_task_mark_missed(struct own_tasks *t, struct own_task *task)
{
	t->n_unattached += !task->is_missed;
	task->is_missed = true;
}

/* What no look later would change is not tried again. */
static int attach_kind(struct own_tasks *t, struct own_task *task, unsigned kind)
{
	struct attachment *a;
	int r;

	r = attachment_new(&t->events, kind, task->tid, &a);
	switch (r) {
	case 0:
		own_task_set_attachment(t, task, a);
		return 0;
	case -ENOMEM:
		return error_origin(r);
	case -EMFILE:
	case -ENFILE:
		t->full = true;
		own_task_mark_missed(t, task);
		return 0;
	case -ESRCH: /* it has ended */
		break;
	default:
		own_task_mark_missed(t, task);
		break;
	}
	task->refused |= UINT32_C(1) << kind;
	return 0;
}

static bool own_task_lacks_kind(const struct own_tasks *t, const struct own_task *task,
				unsigned kind)
{
	return t->kinds[kind].active && !task->attachments[kind] && !(task->refused >> kind & 1);
}

/* Opens what @task lacks. Returns 0 or -ENOMEM. */
static int own_task_attach(struct own_tasks *t, struct own_task *task)
{
	unsigned n = 0;
	int r = 0;

	for (unsigned kind = 0; kind < OWN_TASKS_KINDS; kind++)
		n += own_task_lacks_kind(t, task, kind) ? t->events.online.n : 0;
	if (n && t->events.n_open + n > t->options.max_events) {
		t->full = true;
		own_task_mark_missed(t, task);
		return 0;
	}
	/* Records last: a child that they announce has inherited the rest. */
	for (unsigned kind = 0; !r && kind < OWN_TASKS_KINDS; kind++)
		if (own_task_lacks_kind(t, task, kind))
			r = attach_kind(t, task, kind);
	return r;
}

int own_tasks_add_kind(struct own_tasks *t, unsigned kind, const struct perf_event_attr *attr)
{
	struct own_task *task, *next;
	int r = 0;

	own_events_set_kind(&t->events, kind, attr);
	t->kinds[kind] = (struct own_kind){.active = true};
	HASH_ITER (hh, t->tasks, task, next) {
		task->refused &= ~(UINT32_C(1) << kind);
		if (!r && !task->is_new)
			r = own_task_attach(t, task);
	}
	return r;
}

void own_tasks_remove_kind(struct own_tasks *t, unsigned kind)
{
	struct own_task *task, *next;

	HASH_ITER (hh, t->tasks, task, next)
		detach_kind(t, task, kind);
	t->kinds[kind].active = false;
}

int own_tasks_follow(struct own_tasks *t, const struct cpus *cpus)
{
	if (!memcmp(cpus->bits, t->events.online.bits, sizeof(cpus->bits)))
		return 0;
	/* Attachments have places for the CPUs that there were. */
	own_tasks_reset(t);
	t->looked_ns = 0;
	return own_events_set_cpus(&t->events, cpus);
}

/* Records. */

/* Where an event was opened after the birth, nobody knows what was inherited: nothing, then. */
static void own_task_inherit(struct own_tasks *t, struct own_task *task,
			     const struct own_task *parent, uint64_t born_ns)
{
	for (unsigned kind = 0; kind < OWN_TASKS_KINDS; kind++) {
		struct attachment *a = parent->attachments[kind];

		if (!a || a->since_ns + BIRTH_NS > born_ns || task->attachments[kind])
			continue;
		a->n_tasks++;
		own_task_set_attachment(t, task, a);
	}
}

static int own_tasks_apply_fork(struct own_tasks *t, const struct process_event *event)
{
	struct own_task *parent = own_task_find(t, event->parent_tid);
	struct own_task *task = own_task_find(t, event->tid);
	struct own_process *p;
	int r;

	if (!parent || parent == task)
		return 0;
	if (task && (task->attachments[OWN_TASKS_RECORDS] || task->process->pid != event->pid))
		own_task_drop(t, task); /* another's, whose end was not told */
	else if (task)
		task->is_new = false;
	task = own_task_find(t, event->tid);
	p = own_process_find(t, event->pid);
	if (!p) {
		r = own_process_make(t, event->pid, &p);
		if (r)
			return r;
		p->n_looks = UINT_MAX; /* all its threads will be told */
	}
	if (!task) {
		r = own_task_make(t, p, event->tid, &task);
		if (r)
			return r;
	}
	own_task_inherit(t, task, parent, event->time_ns);
	return 0;
}

/* Other threads than the first that call execve(2) take over its number, and its end was told. */
static int own_tasks_apply_exec(struct own_tasks *t, const struct process_event *event)
{
	struct own_task *task, *next;

	if (own_task_find(t, event->pid))
		return 0;
	HASH_ITER (hh, t->tasks, task, next) {
		if (task->process->pid != event->pid)
			continue;
		HASH_DEL(t->tasks, task);
		task->tid = event->pid;
		HASH_ADD_INT(t->tasks, tid, task);
		return 0;
	}
	return 0;
}

int own_tasks_apply(struct own_tasks *t, const struct process_event *event)
{
	struct own_task *task;

	switch (event->kind) {
	case PROCESS_EVENT_FORK:
		return own_tasks_apply_fork(t, event);
	case PROCESS_EVENT_EXEC:
		return own_tasks_apply_exec(t, event);
	case PROCESS_EVENT_EXIT:
		task = own_task_find(t, event->tid);
		if (task)
			own_task_drop(t, task);
		return 0;
	case PROCESS_EVENT_LOST:
		t->lost = true;
		return 0;
	default:
		return 0;
	}
}

/* Looks at /proc. */

static int see_thread(void *userdata, int dir, pid_t tid)
{
	struct own_tasks *t = userdata;
	struct own_task *task;
	int r;

	(void)dir;
	if (own_task_find(t, tid))
		return 0;
	r = own_task_make(t, t->listed, tid, &task);
	if (!r)
		task->is_new = !t->is_first;
	return r;
}

/* The profiler, or a child of its that it was not told of. */
static bool is_self(struct own_tasks *t, pid_t pid)
{
	struct members *self = t->options.self;
	struct proc_stat stat;

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
	struct own_tasks *t = userdata;
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
	t->listed = p;
	r = proc_each_thread(dir, pid, see_thread, t);
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
		t->options.sink->process_event(t->options.sink->userdata, &event);
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

	DL_FOREACH(t->events.attachments, a)
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
	int r;

	t->is_first = !t->looked_ns;
	if ((t->lost || (t->full && is_mostly_orphans(t))) && now_ns - t->reset_ns > RESET_GAP_NS) {
		own_tasks_reset(t);
		t->lost = false;
		t->reset_ns = now_ns;
		t->is_first = true;
	}
	t->generation++;
	t->looked_ns = now_ns;
	t->found = false;
	r = proc_each_process(t->options.proc_fd, see_process, t);
	if (r < 0)
		return r;
	forget_gone(t);
	r = attach_found(t);
	if (!r && t->found && !t->is_first)
		t->options.sink->process_event(t->options.sink->userdata, &event);
	return r;
}

/* What there is to know. */

uint64_t own_tasks_read(const struct own_tasks *t, unsigned kind, unsigned cpu)
{
	return own_events_read(&t->events, kind, cpu);
}

unsigned own_tasks_alive(const struct own_tasks *t, unsigned kind)
{
	return t->kinds[kind].n_tasks;
}

bool own_tasks_counts(const struct own_tasks *t, unsigned kind, pid_t tid, uint64_t id)
{
	const struct own_task *task = own_task_find(t, tid);
	const struct attachment *a = task ? task->attachments[kind] : NULL;

	/* Of a thread that has ended, or of which nothing was told, there is no other event. */
	return !a || attachment_has(&t->events, a, id);
}

unsigned own_tasks_events(const struct own_tasks *t)
{
	return t->events.n_open;
}

uint64_t own_tasks_unattached(const struct own_tasks *t)
{
	return t->n_unattached;
}
