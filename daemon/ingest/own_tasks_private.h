/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_OWN_TASKS_PRIVATE_H
#define PROFD_INGEST_OWN_TASKS_PRIVATE_H

/* What own_tasks.c (threads and events) and own_tasks_look.c (/proc) share. */
#include <uthash.h>

#include "daemon/ingest/own_tasks.h"

/* The events of one kind that were opened on one thread: one for each CPU. */
struct attachment {
	unsigned kind;
	unsigned n_tasks;  /* the thread that it was opened on, if it lives, and heirs */
	pid_t tid;         /* that thread */
	uint64_t since_ns; /* CLOCK_MONOTONIC: who was born before may have inherited a part */
	struct attachment *prev, *next;
	struct {
		int fd; /* -1: none */
		uint64_t id;
	} events[]; /* by index of CPU */
};

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
	struct perf_event_attr attr;
	unsigned n_tasks;
};

/* A CPU that was online at some time: its index is its place in everything that is by CPU. */
struct own_cpu {
	unsigned cpu;
	bool online;
	uint64_t closed[OWN_TASKS_KINDS]; /* counts of events that were closed */
};

struct own_tasks {
	struct own_tasks_options options;
	struct own_kind kinds[OWN_TASKS_KINDS];
	struct own_cpu *cpus;
	size_t n_cpus;
	struct own_process *processes;
	struct own_task *tasks;
	struct attachment *attachments;
	unsigned n_events;
	uint64_t generation, looked_ns, reset_ns;
	bool lost;  /* records: who inherited what is not known any more */
	bool full;  /* an event could not be opened for lack of room */
	bool found; /* a process without a record was attached since the last look */
	uint64_t n_unattached;
};

struct own_process *own_process_find(const struct own_tasks *t, pid_t pid);
int own_process_make(struct own_tasks *t, pid_t pid, struct own_process **ret);
void own_process_drop(struct own_tasks *t, struct own_process *p);
struct own_task *own_task_find(const struct own_tasks *t, pid_t tid);
int own_task_make(struct own_tasks *t, struct own_process *p, pid_t tid, struct own_task **ret);
/* Opens what @task lacks. Returns 0 or -ENOMEM. */
int own_task_attach(struct own_tasks *t, struct own_task *task);
/* Closes all events and forgets all threads. */
void own_tasks_reset(struct own_tasks *t);

#endif
