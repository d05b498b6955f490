/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source_bpf_cost.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "daemon/ingest/source_bpf_private.h"
#include "profile.skel.h"

_Static_assert(COST_STEP_NS == ABI_COST_STEP_NS, "step");
_Static_assert(COST_BUCKETS == ABI_COST_BUCKETS, "buckets");
_Static_assert(COST_FRAMES == ABI_COST_FRAMES, "frames");
_Static_assert((int)COST_KERNEL_STACK == ABI_COST_KERNEL_STACK, "parts");
_Static_assert((int)COST_USER_WALK == ABI_COST_USER_WALK, "parts");
_Static_assert((int)COST_USER_COPY == ABI_COST_USER_COPY, "parts");
_Static_assert((int)COST_TICK == ABI_COST_TICK, "parts");

static void source_cost_add(struct source_cost *sum, const struct abi_cost *cost)
{
	sum->n += cost->n;
	sum->sum_ns += cost->sum_ns;
	for (unsigned i = 0; i < COST_BUCKETS; i++)
		sum->buckets[i] += cost->buckets[i];
	for (unsigned i = 0; i < COST_FRAMES; i++) {
		sum->frames_n[i] += cost->frames_n[i];
		sum->frames_ns[i] += cost->frames_ns[i];
	}
}

int source_bpf_get_cost(struct source *source, enum source_cost_part part, struct source_cost *ret)
{
	struct bpf_source *s = source_bpf_from(source);
	cleanup(freep) struct abi_cost *costs = NULL;
	struct source_cost sum = {0};
	__u32 key = part;

	if (!s || !source->options.measure_cost)
		return SOURCE_E_UNSUPPORTED;
	costs = calloc(s->n_possible_cpus, sizeof(*costs));
	if (!costs)
		return error_origin(-ENOMEM);
	if (bpf_map_lookup_elem(bpf_map__fd(s->skeleton->maps.costs), &key, costs) < 0)
		return error_origin(-errno);
	for (unsigned i = 0; i < s->n_possible_cpus; i++)
		source_cost_add(&sum, &costs[i]);
	*ret = sum;
	return 0;
}
