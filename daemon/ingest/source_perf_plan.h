/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_PERF_PLAN_H
#define PROFD_INGEST_SOURCE_PERF_PLAN_H

/*
 * How much of each stack the perf source's samples copy, and how large their rings are. A record
 * holds the whole size that was asked for, however short the stack is, and not more than 64 KiB
 * (kernel/events/core.c, perf_output_sample_ustack()): so the rate and the memory decide.
 */
#include <stddef.h>
#include <stdint.h>

#define PERF_PLAN_RING_LEAST 16384u

struct perf_plan {
	size_t ring_bytes;    /* of each CPU, a power of two; 0: there is no memory for it */
	uint32_t stack_bytes; /* sample_stack_user; 0: no copies */
};

/*
 * The largest copies for which a ring of at most @most bytes holds twice what @ticks leave, which
 * is how many one CPU makes between two drains. Without room for any: no copies, and the ring that
 * fits.
 */
struct perf_plan perf_plan_make(uint64_t most, uint64_t ticks);

#endif
