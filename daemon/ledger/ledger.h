/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_LEDGER_LEDGER_H
#define PROFD_DAEMON_LEDGER_LEDGER_H

/*
 * Every tick is accounted for. Two independent counts meet here: what the source says it saw, and
 * what arrived in profd. They close as
 *
 *   expected = seen + lost.skipped
 *   seen     = complete + guessed + no_user + truncated + broken + the other lost + in_flight
 *
 * where in_flight is what the source saw and profd has not drained yet: 0 at rest.
 */
#include <stdint.h>

#include "daemon/ingest/source.h"

/* How the stacks of some samples ended. */
struct stack_counts {
	uint64_t complete, guessed, no_user;
	uint64_t truncated[N_TRUNCATED];
	uint64_t broken[N_BROKEN];
};

/* @n samples ended so; @quality and @reason as in struct sample. */
void stack_counts_add(struct stack_counts *c, unsigned quality, unsigned reason, uint64_t n);
/* *c -= *other, field by field, never below 0. */
void stack_counts_subtract(struct stack_counts *c, const struct stack_counts *other);
uint64_t stack_counts_total(const struct stack_counts *c);

/* The names of reasons, by their numbers. */
extern const char *const truncated_names[N_TRUNCATED], *const broken_names[N_BROKEN],
							       *const lost_names[N_LOST];

struct ledger {
	uint64_t expected, seen;
	struct stack_counts stacks;
	uint64_t lost[N_LOST];
	uint64_t in_flight;
};

/* Of the samplers of one session, in its order: of its event, and of waits beside it. */
#define LEDGERS_MAX 2

struct ledgers {
	struct ledger all[LEDGERS_MAX]; /* zeroes: it has no such sampler */
};

/* Counts a drained sample by how its walk ended. */
void ledger_count(struct ledger *l, const struct sample *sample);
/* Takes over what the source knows, and from that in_flight. */
void ledger_set_source(struct ledger *l, const struct source_stats *stats);
/* *l += *other, field by field. */
void ledger_add(struct ledger *l, const struct ledger *other);
/*
 * The ledger of a window: what was settled between two moments. A tick in flight at the window's
 * edge belongs to the window in which it arrives, so that windows add up to the whole.
 */
void ledger_since(const struct ledger *now, const struct ledger *then, struct ledger *ret);
/*
 * "expected=1 seen=1 ..." with the reasons that are not 0: the text of a profile's ledger line,
 * which the caller frees. Each word begins with @prefix, so that two of them can share a line.
 * NULL: no memory.
 */
char *ledger_text(const struct ledger *l, const char *prefix);

#endif
