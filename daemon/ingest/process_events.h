/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_PROCESS_EVENTS_H
#define PROFD_INGEST_PROCESS_EVENTS_H

/*
 * The stream of process events of the whole machine: fork, exec, names, executable mappings, exit.
 * Each CPU has a "dummy" software event with a ring of its own; this module merges them by time.
 *
 * A drain ends with what happened before it began, however fast more of it comes.
 *
 * Order: everything that is delivered is older than what is delivered later. An event that a CPU
 * was about to write while the rings were read can still be late, but never one that a sample
 * depends on: a task is not sampled in a mapping before the mapping's record is complete.
 */
#include <linux/perf_event.h>

#include "common/cpus.h"
#include "daemon/ingest/source.h"

struct process_events;

/*
 * On the CPUs that are online, to @sink (borrowed), waking up @source's epoll instance, with a part
 * of its memory; the kernel may grant less. @elsewhere: the caller opens the events, for the
 * threads that it wants. Returns SOURCE_E_* with @message or negative errno.
 */
int process_events_new(struct process_events **ret, const struct source *source,
		       const struct source_sink *sink, bool elsewhere,
		       struct source_message *message);
/*
 * From now on @read adds what the source learned elsewhere, up to @until at least, whenever the
 * rings are read; it replaces their EXIT. Like the rings' reader it stops at the first event that
 * is younger. Returns 0 or negative errno.
 */
typedef int (*process_events_read_fn)(void *userdata, uint64_t until);
void process_events_also(struct process_events *p, process_events_read_fn read, void *userdata);
int process_events_add(struct process_events *p, const struct process_event *event);
void process_events_free(struct process_events *p);
DEFINE_CLEANUP(struct process_events *, process_events_free)

/*
 * Opens events on new CPUs, closes those of CPUs that went away (after reading what they hold).
 * Returns 0 or negative errno as perf_event_open(2) has it.
 */
int process_events_follow(struct process_events *p, const struct cpus *cpus);
/*
 * Delivers what happened until now, in order. *ret_until is that moment, CLOCK_MONOTONIC: every
 * event up to it has been delivered. A record that cannot be understood becomes a
 * PROCESS_EVENT_LOST. Returns 0 or negative errno.
 */
int process_events_drain(struct process_events *p, uint64_t *ret_until);
/* Elsewhere: what to open (disabled), and whose ring to write into; -1: @cpu has none. */
void process_events_attr(struct perf_event_attr *ret);
int process_events_fd(const struct process_events *p, unsigned cpu);
size_t process_events_bytes(const struct process_events *p);
/* Of them, those that are not in RSS. */
size_t process_events_ring_bytes(const struct process_events *p);

#endif
