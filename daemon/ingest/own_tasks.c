/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/own_tasks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/ingest/event.h"
#include "daemon/ingest/own_tasks_private.h"
#include "daemon/ingest/perf_admin.h"
#include "daemon/ingest/perf_ring.h"

/* A birth is told a while after the events were inherited (kernel/fork.c, copy_process()). */
#define BIRTH_NS (10 * NS_PER_MS)

int own_tasks_new(struct own_tasks **ret, const struct own_tasks_options *options)
{
	struct own_tasks *t = calloc(1, sizeof(*t));

	if (!t)
		return error_origin(-ENOMEM);
	t->options = *options;
	*ret = t;
	return 0;
}

void own_tasks_free(struct own_tasks *t)
{
	if (!t)
		return;
	own_tasks_reset(t);
	free(t->cpus);
	free(t);
}

int own_tasks_try(bool *ret_kernel, struct source_message *message)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};
	int fd = perf_admin_open(&attr, 0, 0);

	*ret_kernel = fd >= 0;
	if (fd == -EACCES || fd == -EPERM) {
		attr.exclude_kernel = 1;
		fd = perf_admin_open(&attr, 0, 0);
	}
	if (fd >= 0) {
		close(fd);
		if (!*ret_kernel)
			snprintf(message->text, sizeof(message->text),
				 "kernel.perf_event_paranoid = %d: kernel time of your processes "
				 "is not sampled, and counts as skipped; set it to 1 to sample it",
				 event_paranoid_level());
		return SOURCE_E_OK;
	}
	if (fd != -EACCES && fd != -EPERM && fd != -ENOSYS)
		return error_origin(fd);
	return source_refuse(
		message, SOURCE_E_DENIED,
		"the kernel forbids sampling even your own processes (kernel.perf_event_paranoid "
		"= %d)"
		": only programs with libprofd are sampled; sysctl kernel.perf_event_paranoid=2, "
		"then "
		"restart profd",
		event_paranoid_level());
}

/* Attachments. */

static void attachment_close(struct own_tasks *t, struct attachment *a)
{
	uint64_t count;

	for (size_t i = 0; i < t->n_cpus; i++) {
		if (a->events[i].fd < 0)
			continue;
		/* Its own and its heirs': no tick comes that the count does not hold. */
		ioctl(a->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(a->events[i].fd, &count, sizeof(count)) == sizeof(count))
			t->cpus[i].closed[a->kind] += count;
		close(a->events[i].fd);
		a->events[i].fd = -1;
		t->n_events--;
	}
}

static void attachment_unref(struct own_tasks *t, struct attachment *a)
{
	if (--a->n_tasks)
		return;
	attachment_close(t, a);
	DL_DELETE(t->attachments, a);
	free(a);
}

static int open_event(struct own_tasks *t, struct attachment *a, size_t i)
{
	int ring = t->options.ring(t->options.userdata, a->kind, t->cpus[i].cpu), opened;
	cleanup(closep) int fd = -1;

	if (ring < 0)
		return 0;
	opened = perf_admin_open(&t->kinds[a->kind].attr, a->tid, (int)t->cpus[i].cpu);
	if (opened < 0)
		return opened == -ENODEV ? 0 : opened;
	fd = opened;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &a->events[i].id) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	a->events[i].fd = steal_fd(&fd);
	t->n_events++;
	return 0;
}

/* Returns 0, -ENOMEM, or what perf_event_open(2) said. */
static int attachment_new(struct own_tasks *t, unsigned kind, pid_t tid, struct attachment **ret)
{
	struct attachment *a = calloc(1, sizeof(*a) + t->n_cpus * sizeof(a->events[0]));
	int r = 0;

	if (!a)
		return -ENOMEM;
	a->kind = kind;
	a->tid = tid;
	a->n_tasks = 1;
	for (size_t i = 0; i < t->n_cpus; i++)
		a->events[i].fd = -1;
	for (size_t i = 0; !r && i < t->n_cpus; i++)
		if (t->cpus[i].online)
			r = open_event(t, a, i);
	if (r) {
		attachment_close(t, a);
		free(a);
		return r;
	}
	a->since_ns = clock_ns(CLOCK_MONOTONIC);
	DL_APPEND(t->attachments, a);
	*ret = a;
	return 0;
}

/* Tasks and processes. */

struct own_process *own_process_find(const struct own_tasks *t, pid_t pid)
{
	struct own_process *p;

	HASH_FIND_INT(t->processes, &pid, p);
	return p;
}

int own_process_make(struct own_tasks *t, pid_t pid, struct own_process **ret)
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

struct own_task *own_task_find(const struct own_tasks *t, pid_t tid)
{
	struct own_task *task;

	HASH_FIND_INT(t->tasks, &tid, task);
	return task;
}

int own_task_make(struct own_tasks *t, struct own_process *p, pid_t tid, struct own_task **ret)
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
	attachment_unref(t, a);
}

/* The process goes with its last thread. */
static void task_drop(struct own_tasks *t, struct own_task *task)
{
	struct own_process *p = task->process;

	for (unsigned kind = 0; kind < OWN_TASKS_KINDS; kind++)
		detach_kind(t, task, kind);
	HASH_DEL(t->tasks, task);
	free(task);
	if (--p->n_tasks)
		return;
	HASH_DEL(t->processes, p);
	free(p);
}

void own_process_drop(struct own_tasks *t, struct own_process *p)
{
	struct own_task *task, *next;
	unsigned left = p->n_tasks;

	if (!left) {
		HASH_DEL(t->processes, p);
		free(p);
		return;
	}
	HASH_ITER (hh, t->tasks, task, next) {
		if (task->process != p)
			continue;
		task_drop(t, task);
		if (!--left)
			return;
	}
}

void own_tasks_reset(struct own_tasks *t)
{
	struct own_process *p, *next;
	struct own_task *task, *next_task;

	HASH_ITER (hh, t->tasks, task, next_task)
		task_drop(t, task);
	HASH_ITER (hh, t->processes, p, next)
		own_process_drop(t, p);
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

	r = attachment_new(t, kind, task->tid, &a);
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

int own_task_attach(struct own_tasks *t, struct own_task *task)
{
	size_t n = 0;
	int r = 0;

	for (unsigned kind = 0; kind < OWN_TASKS_KINDS; kind++)
		n += own_task_lacks_kind(t, task, kind) ? t->n_cpus : 0;
	if (n && t->n_events + n > t->options.max_events) {
		t->full = true;
		own_task_mark_missed(t, task);
		return 0;
	}
	/* Records last: whoever they tell of has inherited the rest. */
	for (unsigned kind = 0; !r && kind < OWN_TASKS_KINDS; kind++)
		if (own_task_lacks_kind(t, task, kind))
			r = attach_kind(t, task, kind);
	return r;
}

/* On ourselves: what this refuses, every thread will. */
static int try_kind(const struct own_tasks *t, unsigned kind, const struct perf_event_attr *attr)
{
	for (size_t i = 0; i < t->n_cpus; i++) {
		int fd;

		if (t->options.ring(t->options.userdata, kind, t->cpus[i].cpu) < 0)
			continue;
		fd = perf_admin_open(attr, 0, (int)t->cpus[i].cpu);
		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return error_origin(fd);
		close(fd);
		return 0;
	}
	return 0;
}

int own_tasks_add_kind(struct own_tasks *t, unsigned kind, const struct perf_event_attr *attr)
{
	struct own_kind k = {.active = true, .attr = *attr};
	struct own_task *task, *next;
	int r;

	k.attr.inherit = 1;
	k.attr.disabled = 1;
	r = try_kind(t, kind, &k.attr);
	if (r)
		return r;
	t->kinds[kind] = k;
	for (size_t i = 0; i < t->n_cpus; i++)
		t->cpus[i].closed[kind] = 0;
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

/* n_cpus: it was never online. */
static size_t own_tasks_cpu_index(const struct own_tasks *t, unsigned cpu)
{
	size_t i = 0;

	while (i < t->n_cpus && t->cpus[i].cpu != cpu)
		i++;
	return i;
}

static bool own_tasks_same_cpus(const struct own_tasks *t, const struct cpus *cpus)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->n_cpus; i++) {
		if (t->cpus[i].online != cpus_has(cpus, t->cpus[i].cpu))
			return false;
		n += t->cpus[i].online;
	}
	return n == cpus->n;
}

int own_tasks_follow(struct own_tasks *t, const struct cpus *cpus)
{
	if (own_tasks_same_cpus(t, cpus))
		return 0;
	/* Attachments have places for the CPUs that there were. */
	own_tasks_reset(t);
	t->looked_ns = 0;
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		size_t i = own_tasks_cpu_index(t, cpu);

		if (cpus_has(cpus, cpu) == (i < t->n_cpus && t->cpus[i].online))
			continue;
		if (i == t->n_cpus) {
			struct own_cpu *moved = reallocarray(t->cpus, i + 1, sizeof(*moved));

			if (!moved)
				return error_origin(-ENOMEM);
			t->cpus = moved;
			t->cpus[t->n_cpus++] = (struct own_cpu){.cpu = cpu};
		}
		t->cpus[i].online = cpus_has(cpus, cpu);
	}
	return 0;
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
		task_drop(t, task); /* another's, whose end was not told */
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
			task_drop(t, task);
		return 0;
	case PROCESS_EVENT_LOST:
		t->lost = true;
		return 0;
	default:
		return 0;
	}
}

/* What there is to know. */

uint64_t own_tasks_read(const struct own_tasks *t, unsigned kind, unsigned cpu)
{
	size_t i = own_tasks_cpu_index(t, cpu);
	const struct attachment *a;
	uint64_t sum, count;

	if (i == t->n_cpus)
		return 0;
	sum = t->cpus[i].closed[kind];
	DL_FOREACH(t->attachments, a)
	{
		if (a->kind == kind && a->events[i].fd >= 0 &&
		    read(a->events[i].fd, &count, sizeof(count)) == sizeof(count))
			sum += count;
	}
	return sum;
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
	if (!a)
		return true;
	for (size_t i = 0; i < t->n_cpus; i++)
		if (a->events[i].id == id)
			return true;
	return false;
}

unsigned own_tasks_events(const struct own_tasks *t)
{
	return t->n_events;
}

uint64_t own_tasks_unattached(const struct own_tasks *t)
{
	return t->n_unattached;
}
