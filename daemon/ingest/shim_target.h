/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SHIM_TARGET_H
#define PROFD_INGEST_SHIM_TARGET_H

/*
 * One process with libprofd.so, as source_shim.c sees it:
 *
 *   attached   it has a ring, and the bell's other end
 *   left       it closed that, or executed another program: only its end is waited for
 *
 * A target's end is its pidfd's.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/shim/attach.h"
#include "common/shim/ring_reader.h"
#include "daemon/ingest/sample.h"
#include "daemon/ingest/shim_limits.h"
#include "daemon/ingest/source_shim.h"

struct shim_target {
	uint64_t number; /* never used again */
	struct source_shim_process process;
	int pidfd;
	uint64_t start_ns;          /* as in struct sample */
	uint64_t attached_ns;       /* CLOCK_MONOTONIC */
	struct attach_ring ring;    /* ATTACH_RING_NONE: it has left */
	struct ring_reader *reader; /* NULL: the same */

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

/*
 * With a ring of @n_words words (common/shim/ring_layout.h); its number is the caller's to give.
 * @pidfd is taken over, whatever happens. Returns 0, SOURCE_E_FULL (no memory or fds for a ring),
 * SOURCE_E_GONE, or -ENOMEM.
 */
int shim_target_new(struct shim_target **ret, const struct source_shim_process *process, int pidfd,
		    uint32_t n_words);
void shim_target_free(struct shim_target *t);
DEFINE_CLEANUP(struct shim_target *, shim_target_free)

/* Frees the ring, which has been drained. */
void shim_target_leave(struct shim_target *t);
/* Tells it another frequency. */
void shim_target_set_frequency(struct shim_target *t, uint32_t hz);
/* Empties the bell's socket, or some of it. False: it is at its end. */
bool shim_target_hear(struct shim_target *t);
/* Brings the account up to date, once in a drain that began at @now_ns (CLOCK_MONOTONIC). */
void shim_target_look_at_account(struct shim_target *t, uint64_t now_ns);

#endif
