/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_STATS_BPF_H
#define PROFD_BPF_STATS_BPF_H

/*
 * Counters, one set per sampler and CPU. A perf_event program never nests in another on the same
 * CPU (the kernel skips the inner one, see bpf_prog_active in kernel/events/core.c), so plain
 * increments are exact.
 */
#include "bpf/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_SAMPLERS_MAX);
	__type(key, __u32);
	__type(value, struct abi_counters);
} counters SEC(".maps");

/*
 * Children that could not join the filter, because it is full or its bucket was busy. Counted from
 * the fork tracepoint, which can be preempted: atomic.
 */
__u64 unfollowed;

#endif
