/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_DEPARTURES_BPF_H
#define PROFD_BPF_DEPARTURES_BPF_H

/* Samples that the scheduler causes: one whenever a thread leaves a CPU. */
#include "bpf/sample.bpf.h"

volatile __u32 departures_sampler;

/* Arguments of the tracepoint: whether it was preempted, who leaves, who comes. */
SEC("tp_btf/sched_switch")
int departure(unsigned long long *args)
{
	const struct cause cause = {
		.sampler = departures_sampler & (ABI_SAMPLERS_MAX - 1),
		.weight = 1,
		.context = args,
	};

	sample_take(&cause);
	return 0;
}

#endif
