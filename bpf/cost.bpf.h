/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_COST_BPF_H
#define PROFD_BPF_COST_BPF_H

/* What the parts of a tick cost. Without measure_cost the verifier drops all of it. */
#include "bpf/abi.h"

const volatile bool measure_cost;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, N_ABI_COST_PARTS);
	__type(key, __u32);
	__type(value, struct abi_cost);
} costs SEC(".maps");

static __always_inline __u64 cost_begin(void)
{
	return measure_cost ? bpf_ktime_get_ns() : 0;
}

static __always_inline void cost_end(__u64 began, __u32 part, __u32 n_frames)
{
	struct abi_cost *c;
	__u64 ns, bucket, frames = n_frames / 4;

	if (!measure_cost)
		return;
	ns = bpf_ktime_get_ns() - began;
	c = bpf_map_lookup_elem(&costs, &part);
	if (!c)
		return;
	bucket = ns / ABI_COST_STEP_NS;
	if (bucket >= ABI_COST_BUCKETS)
		bucket = ABI_COST_BUCKETS - 1;
	if (frames >= ABI_COST_FRAMES)
		frames = ABI_COST_FRAMES - 1;
	__asm__ volatile("" : "+r"(bucket));
	__asm__ volatile("" : "+r"(frames));
	bucket &= ABI_COST_BUCKETS - 1;
	frames &= ABI_COST_FRAMES - 1;
	c->n++;
	c->sum_ns += ns;
	c->buckets[bucket]++;
	c->frames_n[frames]++;
	c->frames_ns[frames] += ns;
}

#endif
