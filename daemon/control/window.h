/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_WINDOW_H
#define PROFD_CONTROL_WINDOW_H

/*
 * The open window of a session: an aggregate, and the processes that it counts. A process is
 * referenced while the window is open, so that what is known of it is still there at the end.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/aggregate/aggregate.h"
#include "daemon/ledger.h"
#include "daemon/output/snapshot.h"
#include "daemon/resolve/process.h"

struct window;

int window_new(struct window **ret, uint64_t start_ns, size_t max_bytes,
	       const struct ledger *ledger);
void window_free(struct window *w);
DEFINE_CLEANUP(struct window *, window_free)

/* Counts one sample of @p. Returns AGGREGATE_E_* or negative errno. */
int window_add(struct window *w, struct process *p, const struct aggregate_key *key,
	       uint64_t weight);
/*
 * Counts a snapshot's entries, takes over its processes, and begins where it began, when the
 * ledger stood at @then. What does not fit is counted in *ret_dropped.
 */
int window_take_back(struct window *w, struct snapshot *snapshot, const struct ledger *then,
		     uint64_t *ret_dropped);
/* The ledger as it stood when the window began. */
const struct ledger *window_ledger(const struct window *w);
/* Moves aggregate, processes, start and ledger line into @snapshot. */
int window_move(struct window *w, uint64_t end_ns, const struct ledger *ledger,
		struct snapshot *snapshot);
uint64_t window_count(const struct window *w);
uint64_t window_start_ns(const struct window *w);
size_t window_bytes(const struct window *w);

#endif
