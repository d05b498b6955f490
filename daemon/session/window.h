/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_WINDOW_H
#define PROFD_DAEMON_SESSION_WINDOW_H

/*
 * The open window of a session: an aggregate, and the processes that it counts. A process is
 * referenced while the window is open, so that what is known of it is still there at the end.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/aggregate/aggregate.h"
#include "daemon/ledger/ledger.h"
#include "daemon/output/snapshot.h"
#include "daemon/resolve/process.h"

struct sample;
struct window;

/* One moment on both clocks: windows are measured on the first and named by the second. */
struct moment {
	uint64_t monotonic_ns; /* CLOCK_MONOTONIC */
	uint64_t wall_ns;      /* Unix time */
};

/* Which processes a copy is of; all zero: of all. */
struct window_filter {
	const char *service; /* or NULL */
	pid_t pid;           /* or 0 */
	uint64_t serial;     /* only this program of the process; 0: all */
};

/* What must be known of a closed window in case it cannot be written. */
struct window_closing {
	uint64_t start_ns;    /* CLOCK_MONOTONIC */
	struct ledgers since; /* its own, with all that was carried into it */
};

/* Begins at @start, with @ledgers as they stand then. */
int window_new(struct window **ret, const struct moment *start, size_t max_bytes,
	       const struct ledgers *ledgers);
void window_free(struct window *w);
DEFINE_CLEANUP(struct window *, window_free)

/*
 * From now on users have a share of its memory each (resolve/user_room.h), as all together are in
 * it. @self: a user who has as much as root.
 */
void window_divide(struct window *w, uid_t self);
/* Whether the user of @p has had that. */
bool window_has_had_share(const struct window *w, const struct process *p);
/*
 * Counts one sample of @p, taken at @time_ns (CLOCK_MONOTONIC; it may be before the window), with
 * @key->process = p->stay, as one of its unit now. When that was is known by the wall clock as it
 * was when the window began. Returns AGGREGATE_E_* or negative errno; AGGREGATE_E_NEW: its user has
 * had his share, and there is no entry for it.
 */
int window_add(struct window *w, struct process *p, const struct aggregate_key *key,
	       uint64_t time_ns, uint64_t weight);
/* The same, whatever its user has had. */
int window_add_anyway(struct window *w, struct process *p, const struct aggregate_key *key,
		      uint64_t time_ns, uint64_t weight);
/*
 * Entries have latencies (latency.h) from now on, of samples each @period_ns, which are kept in
 * @max_bytes until then. Returns 0 or negative errno.
 */
int window_want_latency(struct window *w, uint64_t period_ns, size_t max_bytes);
/*
 * @sample, which window_add() has just counted, is of @cpu_ns of CPU time. Does nothing if no
 * latencies are wanted. Returns 0 or negative errno.
 */
int window_add_latency(struct window *w, const struct process *p, const struct sample *sample,
		       uint64_t cpu_ns);
/*
 * Keeps a waker, @key, until the sample of the wait, which has the same number @id, takes it as its
 * key's waker. @p: its process, with @key->process = p->stay; NULL: not a user process. The same
 * outcomes; what does not fit is not known.
 */
int window_add_waker(struct window *w, struct process *p, const struct aggregate_key *key,
		     bool by_interrupt, uint64_t id);
/* What was kept under @id, or 0. */
uint32_t window_find_waker(const struct window *w, uint64_t id);
/* How the stacks of all samples of @aggregate ended. */
void window_stack_counts(const struct aggregate *aggregate, struct stack_counts *ret);
/*
 * Counts a snapshot's entries, takes over its processes, its ledger, and begins where it began.
 * What does not fit is counted in *ret_dropped.
 */
int window_restore(struct window *w, struct snapshot *snapshot,
		   const struct window_closing *closing, struct stack_counts *ret_dropped);
/* Has @processes complete what is known of those that it counts. Returns 0 or negative errno. */
int window_complete(struct window *w, struct process_table *processes);
/*
 * Puts processes, samples, times and the text of the ledgers into @snapshot, which says what it was
 * sampled by. With @filter the window stays as it is, and only processes that @filter lets pass,
 * and their samples, are copied, those of the last two seconds without latency; the ledgers are of
 * all. NULL: all of it, and the samples leave the window. Returns 0 or negative errno.
 */
int window_fill_snapshot(struct window *w, const struct moment *end, const struct ledgers *ledgers,
			 const struct window_filter *filter, struct snapshot *snapshot,
			 struct window_closing *ret_closing);
uint64_t window_count(const struct window *w);
/* What was lost since it was opened, with @ledgers as they stand now. */
uint64_t window_lost(const struct window *w, const struct ledgers *ledgers);

#endif
