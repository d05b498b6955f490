/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_OWN_EVENTS_H
#define PROFD_INGEST_OWN_EVENTS_H

/*
 * The perf events that are open on threads of one's own (own_tasks.h). Those of one kind on one
 * thread are an attachment: an event for each CPU, with what its heirs count. It lives as long as
 * one of these threads. What was counted when it is closed stays in the sum.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cpus.h"
#include "daemon/ingest/source.h"

#define OWN_TASKS_RECORDS SAMPLERS_MAX /* the kind that reports processes; samplers are below */
#define OWN_TASKS_KINDS   (SAMPLERS_MAX + 1)

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
	} events[]; /* by CPU */
};

struct own_events {
	/* An event on @cpu into whose ring those of @kind are to write; -1: there is none. */
	int (*ring)(void *userdata, unsigned kind, unsigned cpu);
	void *userdata;
	struct perf_event_attr attrs[OWN_TASKS_KINDS];
	struct cpus online;
	size_t n_cpus;                       /* one more than the highest that ever was online */
	uint64_t (*closed)[OWN_TASKS_KINDS]; /* by CPU: counts of events that were closed */
	struct attachment *attachments;
	unsigned n_open;
};

/*
 * Whether this kernel lets us open events on our own threads, and with what the kernel does for
 * them (*ret_kernel). Returns SOURCE_E_OK, where @message says what is not to be had, or is empty;
 * SOURCE_E_DENIED with @message; or negative errno.
 */
int own_events_try(bool *ret_kernel, struct source_message *message);

/* All attachments are gone. */
void own_events_deinit(struct own_events *e);
/* The CPUs that are online, while there is no attachment. Returns 0 or -ENOMEM. */
int own_events_set_cpus(struct own_events *e, const struct cpus *cpus);
/* What attachments of @kind are from now on; what was counted of it is forgotten. */
void own_events_set_kind(struct own_events *e, unsigned kind, const struct perf_event_attr *attr);
/* Reads all counts of @kind on @cpu: events that were counted until now. Never falls. */
uint64_t own_events_read(const struct own_events *e, unsigned kind, unsigned cpu);

/* Returns 0, -ENOMEM, or what perf_event_open(2) said, as a negative errno. */
int attachment_new(struct own_events *e, unsigned kind, pid_t tid, struct attachment **ret);
void attachment_unref(struct own_events *e, struct attachment *a);
/* Whether the event @id is one of it. */
bool attachment_has(const struct own_events *e, const struct attachment *a, uint64_t id);

#endif
