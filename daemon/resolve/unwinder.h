/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_UNWINDER_H
#define PROFD_RESOLVE_UNWINDER_H

/*
 * Makes stacks complete, between a source and the sink of its samples:
 *
 *   - tells the BPF programs what walks need: each sampled image's table of unwind rules, compiled
 *     by an image worker (table_loader.h) when it is first needed, kept in a pool and evicted when
 *     that is full; and each living process's executable mappings, as soon as an event announced
 *     them.
 *   - finishes the walks that a source could not finish, on the copies of stacks that came with the
 *     samples. Those whose tables are still being made wait, a second and a half at most.
 *
 * Samples leave it finished (no rest), each exactly once, not always in the order in which they
 * came. Process events pass straight through, before they are looked at.
 *
 * Main thread only.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/ingest/source.h"
#include "daemon/ingest/unwind_host.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/table_loader.h"

struct memory_budget;

struct unwinder_options {
	const struct source_sink *next;  /* borrowed: takes events, and samples when finished */
	struct process_table *processes; /* borrowed; `next` applies events to it */
	int proc_fd;                     /* borrowed; -1: a replay, nothing is read */
	struct cpu_causes *cpu_causes;   /* borrowed: the thread's; or NULL */
	uint64_t memory_bytes;           /* for waiting samples and compiling */
	uint64_t table_bytes;            /* for tables, if the source has no memory for them; 0: a
					    part of memory_bytes */
	struct memory_budget *budget;    /* for the tables' worker: common/worker/worker.h */
	bool raw_frames; /* frames leave as addresses, not as FRAME_IMAGE: for a recording */
};

/* X(name): see status --json, unwinding. Totals since the start. */
#define UNWINDER_COUNTERS(X)                                                                      \
	X(finished)         /* walks that were finished outside of the kernel */                  \
	X(waited)           /* of these, those that waited for a table or memory */               \
	X(gave_up)          /* waited in vain: delivered as they were */                          \
	X(no_room)          /* could not wait: too many others did */                             \
	X(tables_loaded)    /* images whose rules were compiled */                                \
	X(tables_evicted)   /* to make room */                                                    \
	X(tables_refused)   /* images whose rules cannot be used: too big, malformed */           \
	X(images_over_4g)   /* refused because their code lies past 4 GiB */                      \
	X(no_slot)          /* images that found no place in the table of tables */               \
	X(rules_expression) /* rows with expressions that no walk can follow, of loaded tables */ \
	X(rules_unfit)      /* rows whose numbers do not fit a rule, of loaded tables */          \
	X(published)        /* times that a process's mappings were handed to the BPF programs */ \
	X(mapping_table_full)    /* no room for them */                                           \
	X(mapping_table_evicted) /* processes that gave their room to others' mappings */         \
	X(stale)                 /* walks by mappings that had just been replaced */              \
	X(memory_reads)          /* attempts to read a process's memory that a copy lacked */     \
	X(memory_failed)         /* of these, in vain */

#define UNWINDER_COUNTER_FIELD(n) uint64_t n;
struct unwinder_stats {
	UNWINDER_COUNTERS(UNWINDER_COUNTER_FIELD)
	/* Now. */
	uint64_t tables, rows, table_bytes; /* loaded */
	uint64_t waiting;                   /* samples */
	struct table_loader_stats loader;   /* totals since the start */
	pid_t memory_keeper;                /* memory_reader_keeper() */
	uint64_t memory_bytes;              /* heap held, and tables that are no BPF memory */
	/* The interpreter that was refused last: its path, printable, cut if need be; and why. "":
	 * none was. */
	char refused_runtime[256];
	const char *refused_because;
};

struct unwinder;

int unwinder_new(struct unwinder **ret, const struct unwinder_options *options);
void unwinder_free(struct unwinder *u);
DEFINE_CLEANUP(struct unwinder *, unwinder_free)

/* What the source is to deliver to. Lives as long as @u. */
const struct source_sink *unwinder_sink(struct unwinder *u);
/*
 * Once, after the source was made; @host (borrowed, until unwinder_detach()) may be NULL. @now_ns,
 * here and below: CLOCK_MONOTONIC. Samples and events that the sink gets between two calls are
 * taken to be of the later one's time where it matters, as they may be delivered long after they
 * happened.
 */
int unwinder_attach(struct unwinder *u, const struct unwind_host *host, uint64_t now_ns);
/* Before the source is freed. */
void unwinder_detach(struct unwinder *u);
/* Readable when the loader or the memory reader has something; then call unwinder_dispatch(). */
int unwinder_fd(const struct unwinder *u);
int unwinder_dispatch(struct unwinder *u, uint64_t now_ns);
/*
 * After each drain of the source: publishes what changed, and lets go of those that have waited
 * too long.
 */
int unwinder_after_drain(struct unwinder *u, uint64_t now_ns);
/* About once a second: forgets images and processes that are gone. */
int unwinder_sweep(struct unwinder *u, uint64_t now_ns);
/*
 * Waits until no sample of @sampler (UNWINDER_ALL: of any) waits, for @timeout_ms from @now_ns at
 * most. Blocks as long.
 */
#define UNWINDER_ALL UINT_MAX
int unwinder_settle(struct unwinder *u, unsigned sampler, uint64_t now_ns, unsigned timeout_ms);
/* Delivers those that still wait, as they are. */
void unwinder_release_waiters(struct unwinder *u, unsigned sampler);
/* While it is attached: what the loader counted goes with it. */
void unwinder_get_stats(const struct unwinder *u, struct unwinder_stats *ret);
/* The first fatal error of a sample or event, which a sink cannot return; 0 none. */
int unwinder_error(const struct unwinder *u);

#endif
