/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_SHIM_PRIVATE_H
#define PROFD_INGEST_SOURCE_SHIM_PRIVATE_H

/* What source_shim.c (samplers, processes) and source_shim_drain.c (rings) share. */
#include "common/shim/ring_reader.h"
#include "daemon/ingest/shim_limits.h"
#include "daemon/ingest/source_shim.h"

/*
 * One process with libprofd.so:
 *
 *   attached   it has a ring, and the bell's other end
 *   left       it closed that, or executed another program: only its end is waited for
 *
 * A target's end is its pidfd's.
 */
struct shim_target {
	uint64_t number; /* never used again */
	struct source_shim_process process;
	int pidfd;
	uint64_t start_ns;       /* as in struct sample */
	uint64_t attached_ns;    /* CLOCK_MONOTONIC */
	struct attach_ring ring; /* ATTACH_RING_NONE: it has left */

	uint16_t wanted;    /* by which samplers, a bit each; besides those that want all */
	uint32_t frequency; /* that it was told; 0: none */
	uint32_t last;      /* that it was told and that was not 0; 0: there was none */
	struct shim_account account;
	uint64_t looked_ns;                  /* CLOCK_MONOTONIC, when its CPU time was asked last */
	struct ring_ledger told;             /* what it said of itself, as far as that is counted */
	uint64_t rest_ns[SAMPLERS_MAX];      /* of samples, see shim_account_periods() */
	uint64_t lost_rest_ns[SAMPLERS_MAX]; /* the same of losses */

	bool has_generation;
	uint32_t generation;    /* of its mappings, when they were looked at last */
	uint64_t look_after_ns; /* CLOCK_MONOTONIC; not again before */
};

struct shim_sampler {
	uint64_t period_ns;
	uint32_t hz; /* that a process must tick with at least */
};

struct shim_source {
	struct source source; /* its fd is an epoll instance */
	struct source_shim_options options;
	/*
	 * Of the fds that wake profd, `bells` holds the rings' bells, which strangers ring. It
	 * fires once, and again when `gate`, a timer, has run out: so nobody is woken without end.
	 */
	int bells, gate;
	uint32_t n_words; /* of each ring */
	unsigned max_targets;
	uint64_t next_number;
	struct shim_target **targets; /* owned */
	unsigned n_targets;
	size_t room;   /* for so many of them */
	unsigned turn; /* whose ring is drained first */
	struct shim_sampler samplers[SAMPLERS_MAX];
	uint64_t look_after_ns; /* no process's mappings are looked at before */
	uint64_t excess_ticks;
	struct shim_pace pace;
};

static inline bool shim_wants(const struct shim_source *s, unsigned sampler,
			      const struct shim_target *t)
{
	const struct source_sampler *common = &s->source.samplers[sampler];

	return common->used && (common->spec.all || t->wanted >> sampler & 1);
}

/*
 * Delivers what is in the ring of @t, at most as much as the ring holds. @is_last: nothing more
 * will come. *budget falls by what was delivered. Returns 0, SOURCE_E_GONE (the ring makes no sense
 * any more) or negative errno.
 */
int source_shim_drain_target(struct shim_source *s, struct shim_target *t, bool is_last,
			     unsigned *budget);

#endif
