/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_COST_H
#define PROFD_INGEST_SOURCE_BPF_COST_H

/*
 * What the parts of a tick cost, measured by the program itself (source_options.measure_cost): for
 * tests/bench. Reading the clock twice a part adds some 50 ns to each.
 */
#include <stdint.h>

#include "daemon/ingest/source.h"

#define COST_STEP_NS 128u
#define COST_BUCKETS 512u /* times up to 65 us; longer ones are in the last */
#define COST_FRAMES  32u  /* by number of frames, in fours; more are in the last */

/* Of one part; all CPUs together. */
struct source_cost {
	uint64_t n, sum_ns;
	uint32_t buckets[COST_BUCKETS];
	uint64_t frames_n[COST_FRAMES], frames_ns[COST_FRAMES]; /* by the stack's depth */
};

enum source_cost_part {
	COST_KERNEL_STACK,
	COST_USER_WALK,
	COST_USER_COPY, /* ticks that had to copy the stack */
	COST_TICK,      /* the whole program */
	N_COST_PARTS,
};

/* Returns 0, SOURCE_E_UNSUPPORTED if nothing is measured, or negative errno. */
int source_bpf_get_cost(struct source *source, enum source_cost_part part, struct source_cost *ret);

#endif
