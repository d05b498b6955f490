/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_OWN_TASKS_H
#define PROFD_INGEST_OWN_TASKS_H

/*
 * The threads of the caller's own user, and the perf events that are open on them. Who holds no
 * privileges may not open events for all that a CPU runs, but may on each thread that he could
 * trace: one for each kind (the records of processes, and each sampler) and CPU, as only an event
 * of one CPU that threads inherit can have a ring (perf_event_open(2), mmap of inherited events;
 * kernel/events/core.c, perf_mmap()). All of one kind and CPU write into one ring, the owner's.
 *
 * What a thread gives birth to inherits its events: it is told by FORK, and costs no file
 * descriptor. Closing an event closes what was inherited from it: it stays open until the last heir
 * has ended. Processes that nobody told of (started by others, as at a login) are found in /proc.
 *
 * An opening takes its time, in which a thread may be born that inherits a part of the events, or
 * all and is not told of. So each sample carries the id of its event, and a thread's samples count
 * by one event of a kind and CPU alone: own_tasks_counts().
 *
 * A thread's event ticks after a whole period of that thread's own time on that CPU: those that
 * end before are counted, not sampled.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "daemon/ingest/members.h"
#include "daemon/ingest/own_events.h"
#include "daemon/ingest/source.h"

struct own_tasks;

struct own_tasks_options {
	int proc_fd;          /* borrowed: /proc */
	uid_t uid;            /* whose */
	struct members *self; /* borrowed: OWN_SAMPLER's are left out */
	unsigned max_events;  /* that may be open */
	/* An event on @cpu into whose ring those of @kind are to write; -1: there is none. */
	int (*ring)(void *userdata, unsigned kind, unsigned cpu);
	void *userdata;
	/*
	 * Borrowed: is told of events that no record tells, LOST after a process was found in
	 * /proc, EXIT when one has gone that was not sampled.
	 */
	const struct source_sink *sink;
};

/* Returns 0 or negative errno. */
int own_tasks_new(struct own_tasks **ret, const struct own_tasks_options *options);
void own_tasks_free(struct own_tasks *t);
DEFINE_CLEANUP(struct own_tasks *, own_tasks_free)

/* The CPUs that are online. If there are others than before, all events are opened anew. */
int own_tasks_follow(struct own_tasks *t, const struct cpus *cpus);
/*
 * Opens events of @attr, which are inherited and disabled, on all threads that are known. What
 * single threads refuse is counted. Returns 0 or -ENOMEM.
 */
int own_tasks_add_kind(struct own_tasks *t, unsigned kind, const struct perf_event_attr *attr);
/* Closes them: when this returns, the last tick has come. Counts stay until the next add. */
void own_tasks_remove_kind(struct own_tasks *t, unsigned kind);
/* A record of kind OWN_TASKS_RECORDS. Returns 0 or -ENOMEM. */
int own_tasks_apply(struct own_tasks *t, const struct process_event *event);
/*
 * Looks for threads that nobody told of: call it every second or two. The first time what is
 * found gets its events at once, later at the next look, as a record may be on its way. After lost
 * records everything begins anew. Returns 0 or negative errno.
 */
int own_tasks_look(struct own_tasks *t, uint64_t now_ns);

/* Reads all counts of @kind on @cpu: events that were counted until now. Never falls. */
uint64_t own_tasks_read(const struct own_tasks *t, unsigned kind, unsigned cpu);
/* Threads that have events of @kind, each with up to a period that is not full yet. */
unsigned own_tasks_alive(const struct own_tasks *t, unsigned kind);
/* Whether a sample of @tid by the event @id is the one that counts. */
bool own_tasks_counts(const struct own_tasks *t, unsigned kind, pid_t tid, uint64_t id);
unsigned own_tasks_events(const struct own_tasks *t);
/* Threads that could not be sampled, since the start: too many events, or refused. */
uint64_t own_tasks_unattached(const struct own_tasks *t);

#endif
