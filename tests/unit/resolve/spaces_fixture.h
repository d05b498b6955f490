/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RESOLVE_SPACES_FIXTURE_H
#define TESTS_UNIT_RESOLVE_SPACES_FIXTURE_H

/*
 * Scripted events of processes, and what the kernel's side does with its roots by itself. Files
 * cannot be opened here, so their tables are known not to come; the vdso's is absent until somebody
 * needs it.
 */
#include "tests/unit/resolve/unwinder_fixture.h"

#define BASE     UINT64_C(0x10000000)
#define LATE_MAX 512u

struct host {
	struct fixture *f;
	uint64_t now; /* of the script; nothing here knows another clock */
	bool is_late; /* events arrive with the next drain; the kernel's side is never late */
	/* What happens while a drain delivers, before each event: too late to be in it. */
	void (*meanwhile)(struct host *h);
	void *userdata; /* its own */
	struct process_event late[LATE_MAX];
	char paths[LATE_MAX][32];
	unsigned n_late;
};

static inline int set_up(void **state)
{
	struct host *h = calloc(1, sizeof(*h));

	h->f = fixture_new(true, false, false, 1 << 20);
	h->now = 10 * SECOND;
	h->f->clock = &h->now;
	*state = h;
	return 0;
}

static inline int tear_down(void **state)
{
	struct host *h = *state;

	fixture_free(h->f);
	free(h);
	return 0;
}

/* What the kernel's side does by itself, before its events arrive. */
static inline void kernel_sees(struct host *h, const struct process_event *event)
{
	struct fixture *f = h->f;
	const struct unwind_root *parent;
	struct unwind_root child;

	if (event->kind != PROCESS_EVENT_EXEC && event->kind != PROCESS_EVENT_FORK)
		return;
	f->changed[event->pid % CHANGED_MAX] = event->time_ns;
	if (event->kind == PROCESS_EVENT_EXEC)
		return;
	for (unsigned i = 0; i < f->n_roots; i++)
		if (f->roots[i].pid == (uint32_t)event->pid)
			f->roots[i] = f->roots[--f->n_roots];
	parent = root_of(f, event->parent);
	if (!parent)
		return;
	child = *parent;
	child.pid = (uint32_t)event->pid;
	child.until_ns = event->time_ns;
	f->roots[f->n_roots++] = child;
}

static inline void send(struct host *h, struct process_event event)
{
	const struct source_sink *sink = unwinder_sink(h->f->unwinder);

	event.time_ns = h->now += 1000;
	event.tid = event.pid;
	kernel_sees(h, &event);
	if (!h->is_late) {
		sink->process_event(sink->userdata, &event);
		return;
	}
	assert_true(h->n_late < LATE_MAX);
	if (event.kind == PROCESS_EVENT_MMAP)
		snprintf(h->paths[h->n_late], sizeof(h->paths[0]), "%s", event.map.path);
	h->late[h->n_late++] = event;
}

static inline void fork_of(struct host *h, pid_t parent, pid_t pid)
{
	send(h, (struct process_event){.kind = PROCESS_EVENT_FORK, .pid = pid, .parent = parent});
}

static inline void exec_of(struct host *h, pid_t pid)
{
	send(h, (struct process_event){.kind = PROCESS_EVENT_EXEC, .pid = pid, .comm = "x"});
}

static inline void exit_of(struct host *h, pid_t pid)
{
	send(h, (struct process_event){.kind = PROCESS_EVENT_EXIT, .pid = pid});
}

/* Page @page of the process's own address space; @inode 0: the vdso. */
static inline void map_of(struct host *h, pid_t pid, uint64_t page, uint64_t n, uint64_t inode)
{
	struct process_event event = {.kind = PROCESS_EVENT_MMAP, .pid = pid};
	char path[32];

	snprintf(path, sizeof(path), "/lib/%u", (unsigned)inode);
	event.map.start = BASE + page * 4096;
	event.map.length = n * 4096;
	event.map.offset = page * 4096;
	event.map.inode = inode;
	event.map.path = inode ? path : "[vdso]";
	send(h, event);
}

static inline void deliver_late(struct host *h)
{
	const struct source_sink *sink = unwinder_sink(h->f->unwinder);
	unsigned n = h->n_late;

	for (unsigned i = 0; i < n; i++) {
		struct process_event event = h->late[i];

		if (h->meanwhile)
			h->meanwhile(h);
		if (event.kind == PROCESS_EVENT_MMAP)
			event.map.path = h->paths[i];
		sink->process_event(sink->userdata, &event);
	}
	h->n_late -= n;
	memmove(h->late, h->late + n, h->n_late * sizeof(h->late[0]));
	memmove(h->paths, h->paths + n, h->n_late * sizeof(h->paths[0]));
}

/* What has happened by now is delivered, and the answer given, @slow_ns later. */
static inline void slow_drain(struct host *h, uint64_t slow_ns)
{
	h->now += SECOND / 10;
	h->f->until_ns = h->now;
	deliver_late(h);
	h->now += slow_ns;
	assert_int_equal(unwinder_after_drain(h->f->unwinder, h->now), 0);
}

static inline void drain(struct host *h)
{
	slow_drain(h, 0);
}

static inline void later(struct host *h, unsigned seconds)
{
	h->now += seconds * SECOND;
	drain(h);
}

static inline void program(struct host *h, pid_t pid)
{
	exec_of(h, pid);
	map_of(h, pid, 0, 4, 11);
	map_of(h, pid, 100, 8, 12);
}

/* A sample that the kernel left to us: at @page, by a root of @walked_until_ns. */
static inline void sample_of(struct host *h, pid_t pid, uint64_t page, uint64_t walked_until_ns)
{
	const struct sample_rest rest = {
		.registers = {.pc = BASE + page * 4096 + 8, .sp = 0x7000, .fp = 0}};
	const struct sample sample = {.time_ns = h->now += 1000,
				      .pid = pid,
				      .tid = pid,
				      .quality = STACK_BROKEN,
				      .reason = BROKEN_UNKNOWN,
				      .frames = (const uint64_t[]){0},
				      .walked_until_ns = walked_until_ns,
				      .rest = &rest};
	unsigned before = h->f->n_got;

	deliver(h->f, &sample);
	assert_int_equal(settle(h->f->unwinder, h->now, 60000), 0);
	assert_int_equal(h->f->n_got, before + 1);
}

static inline const struct unwind_mapping *mapping_of(struct host *h, pid_t pid, unsigned i)
{
	const struct unwind_root *root = root_of(h->f, pid);

	assert_non_null(root);
	assert_true(i < root->n);
	return &h->f->host.mappings[root->first + i];
}

#endif
