/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_SHIM_PRIVATE_H
#define PROFD_INGEST_SOURCE_SHIM_PRIVATE_H

/* What source_shim.c (samplers, processes) and source_shim_drain.c (rings) share. */
#include "daemon/ingest/shim_limits.h"
#include "daemon/ingest/shim_target.h"

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
