/* SPDX-License-Identifier: MIT */
#include "common/profile/pprof_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

void pprof_ids_deinit(struct pprof_ids *ids)
{
	free(ids->pairs);
	free(ids->dense);
	*ids = (struct pprof_ids){0};
}

int pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t index)
{
	size_t max = ids->max_pairs ? ids->max_pairs * 2 : 64;
	struct pprof_id *grown;

	if (ids->n_pairs == ids->max_pairs) {
		grown = reallocarray(ids->pairs, max, sizeof(*grown));
		if (!grown)
			return error_origin(-ENOMEM);
		ids->pairs = grown;
		ids->max_pairs = max;
	}
	ids->pairs[ids->n_pairs++] = (struct pprof_id){.id = id, .index = index};
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct pprof_id *)a)->id;
	uint64_t y = ((const struct pprof_id *)b)->id;

	return x < y ? -1 : x > y;
}

int pprof_ids_seal(struct pprof_ids *ids, uint64_t *ret_duplicate)
{
	bool sorted = true;
	uint64_t last;

	*ret_duplicate = 0;
	if (!ids->n_pairs)
		return 0;
	for (size_t i = 1; i < ids->n_pairs && sorted; i++)
		sorted = ids->pairs[i - 1].id <= ids->pairs[i].id;
	if (!sorted)
		qsort(ids->pairs, ids->n_pairs, sizeof(*ids->pairs), compare);
	for (size_t i = 1; i < ids->n_pairs; i++) {
		if (ids->pairs[i - 1].id == ids->pairs[i].id) {
			*ret_duplicate = ids->pairs[i].id;
			return 0;
		}
	}
	last = ids->pairs[ids->n_pairs - 1].id;
	if (last / 4 > ids->n_pairs)
		return 0;
	ids->n_dense = (size_t)last + 1;
	ids->dense = malloc(ids->n_dense * sizeof(*ids->dense));
	if (!ids->dense)
		return error_origin(-ENOMEM);
	memset(ids->dense, 0xff, ids->n_dense * sizeof(*ids->dense));
	for (size_t i = 0; i < ids->n_pairs; i++)
		ids->dense[ids->pairs[i].id] = ids->pairs[i].index;
	return 0;
}

uint32_t pprof_ids_bisect(const struct pprof_ids *ids, uint64_t id)
{
	size_t low = 0, high = ids->n_pairs;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids->pairs[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < ids->n_pairs && ids->pairs[low].id == id)
		return ids->pairs[low].index;
	return UINT32_MAX;
}
