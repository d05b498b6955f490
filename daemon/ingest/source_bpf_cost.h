/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_COST_H
#define PROFD_INGEST_SOURCE_BPF_COST_H

/*
 * What the parts of a tick cost, measured by the program itself (source_options.measure_cost): for
 * tests/bench. Reading the clock twice a part adds some 50 ns to each.
 */
#include "bpf/abi.h"
#include "daemon/ingest/source.h"

/*
 * Of one part, all CPUs together: *ret has the times in buckets of ABI_COST_STEP_NS, longer ones in
 * the last, and counts and times by the stack's depth in fours, deeper ones in the last. Returns 0,
 * SOURCE_E_UNSUPPORTED if nothing is measured, or negative errno.
 */
int source_bpf_get_cost(struct source *source, enum abi_cost_part part, struct abi_cost *ret);

#endif
