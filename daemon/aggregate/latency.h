/* SPDX-License-Identifier: MIT */
#ifndef PROFD_AGGREGATE_LATENCY_H
#define PROFD_AGGREGATE_LATENCY_H

/*
 * CPU time divided by how many threads of the service ran at the same time: what runs alone has all
 * of it, and all latencies of a service add up to the time in which any of its threads ran. `perf
 * report --latency` has the same by switches.
 *
 * Here it is made of samples alone. Each busy CPU has some in each slot of time, so the threads
 * that ran at the same time are those with samples in the same slot, but no more of them than CPUs:
 * what takes turns on one CPU is not in parallel. Threads that take turns on several within one
 * slot count as if they were.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "daemon/aggregate/aggregate.h"

#define LATENCY_BYTES_MAX (384u << 10)

struct latency;

/*
 * @slot_ns: of which each has a sample of a CPU that is busy throughout, more than 0. @max_bytes:
 * bound for samples whose part is not known yet; LATENCY_BYTES_MAX is enough for 30 busy CPUs at
 * 99 Hz. Returns 0 or -ENOMEM.
 */
int latency_new(struct latency **ret, uint64_t slot_ns, size_t max_bytes);
/* What was not settled is lost. */
void latency_free(struct latency *l);
DEFINE_CLEANUP(struct latency *, latency_free)

/* @entry of the aggregate counts a sample: of @cpu_ns of CPU time, taken at @time_ns (any clock).
 */
struct latency_sample {
	uint64_t time_ns, cpu_ns;
	const char *service;
	pid_t tid;
	uint32_t cpu; /* CPUS_MAX or more: unknown */
	uint32_t entry;
};

/*
 * Keeps it, and adds its part to @a's entry when all that ran beside it must have come. Where there
 * is no room, that is earlier. Returns 0 or -ENOMEM.
 */
int latency_add(struct latency *l, struct aggregate *a, const struct latency_sample *sample);
/* Entries have what is known by now: all but the parts of the last two seconds. */
void latency_update(struct latency *l, struct aggregate *a);
/* All that is kept has come: entries have all of it. */
void latency_settle(struct latency *l, struct aggregate *a);

#endif
