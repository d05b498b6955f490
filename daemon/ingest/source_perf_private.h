/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_PERF_PRIVATE_H
#define PROFD_INGEST_SOURCE_PERF_PRIVATE_H

/* What source_perf.c and source_perf_own.c, for users' own processes, share. */
#include "daemon/ingest/members.h"
#include "daemon/ingest/own_tasks.h"
#include "daemon/ingest/perf_record.h"
#include "daemon/ingest/perf_ring.h"
#include "daemon/ingest/process_events.h"
#include "daemon/ingest/source_perf_plan.h"
#include "daemon/ingest/source_perf_user.h"
#include "daemon/ingest/ticker.h"

struct perf_sampler {
	unsigned index;
	struct sampler_spec *spec;  /* the source's */
	struct source_stats *stats; /* the same */
	struct ticker ticker;
	struct perf_plan plan;
	uint64_t sample_type;
};

struct perf_source {
	struct source source;    /* its fd is an epoll instance */
	struct source_sink sink; /* ours: follows fork before it hands on */
	struct process_events *events;
	struct members *members;
	struct members *own;             /* our children, and we; NULL: they are sampled */
	struct own_tasks *tasks_of_user; /* NULL: the events are of all that a CPU runs */
	bool sees_kernel;
	uint64_t found_ns; /* when threads were last looked for */
	struct perf_sampler samplers[SAMPLERS_MAX];
	struct perf_tasks tasks;
	uint64_t events_until; /* process events up to here have been delivered */
	uint64_t looked_ns;    /* when skipped ticks were last looked for */
	uint64_t unfollowed;
	struct perf_sample sample;
	uint8_t record[PERF_RING_RECORD_MAX];
};

/* Finds the user's processes, and begins to follow them. Returns 0 or negative errno. */
int source_perf_own_begin(struct perf_source *s);
/*
 * Of a source that was begun so: opens the events of @sampler, whose rings are there; if that
 * fails, they are taken down. Else nothing. Returns 0 or negative errno, as perf_event_open(2) has
 * it.
 */
int source_perf_own_add(struct perf_source *s, struct perf_sampler *sampler);
/* Looks for threads and CPUs, about every second. Returns 0 or negative errno. */
int source_perf_own_follow(struct perf_source *s, const struct cpus *cpus);
/* ticker_read() for either sort of events, and how long to wait until the next. */
void source_perf_read(struct perf_source *s, struct perf_sampler *sampler);
uint64_t source_perf_look_interval_ns(const struct perf_source *s);

#endif
