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

static void source_cost_add(struct abi_cost *sum, const struct abi_cost *cost)
{
	sum->n += cost->n;
	sum->sum_ns += cost->sum_ns;
	for (unsigned i = 0; i < ABI_COST_BUCKETS; i++)
		sum->buckets[i] += cost->buckets[i];
	for (unsigned i = 0; i < ABI_COST_FRAMES; i++) {
		sum->frames_n[i] += cost->frames_n[i];
		sum->frames_ns[i] += cost->frames_ns[i];
	}
}

int source_bpf_get_cost(struct source *source, enum abi_cost_part part, struct abi_cost *ret)
{
	struct bpf_source *s = source_bpf_from(source);
	cleanup(freep) struct abi_cost *costs = NULL;
	struct abi_cost sum = {0};
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
