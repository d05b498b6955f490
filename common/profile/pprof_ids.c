/* SPDX-License-Identifier: MIT */
#include "common/profile/pprof_ids.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/partition_point.h"
#include "common/room.h"

void pprof_ids_deinit(struct pprof_ids *ids)
{
	free(ids->pairs);
	free(ids->dense);
	*ids = (struct pprof_ids){0};
}

static int add_dense(struct pprof_ids *ids, uint32_t index)
{
	int r = room_make(&ids->dense, &ids->max_dense, ids->n_dense + 1, sizeof(*ids->dense));

	if (!r)
		ids->dense[ids->n_dense++] = index;
	return r;
}

int pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t index)
{
	int r;

	if (id == ids->n_dense + 1)
		return add_dense(ids, index);
	r = room_make(&ids->pairs, &ids->max_pairs, ids->n_pairs + 1, sizeof(*ids->pairs));
	if (!r)
		ids->pairs[ids->n_pairs++] = (struct pprof_id){.id = id, .index = index};
	return r;
}

static int pprof_ids_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct pprof_id *)a)->id;
	uint64_t y = ((const struct pprof_id *)b)->id;

	return x < y ? -1 : x > y;
}

/* Makes pairs dense, too, if numbers that are no id are few enough. */
static int pprof_ids_make_dense(struct pprof_ids *ids)
{
	uint64_t last = ids->pairs[ids->n_pairs - 1].id;
	int r;

	if (last / 4 > ids->n_pairs + ids->n_dense)
		return 0;
	r = room_make(&ids->dense, &ids->max_dense, (size_t)last, sizeof(*ids->dense));
	if (r)
		return r;
	memset(ids->dense + ids->n_dense, 0xff, (last - ids->n_dense) * sizeof(*ids->dense));
	for (size_t i = 0; i < ids->n_pairs; i++)
		ids->dense[ids->pairs[i].id - 1] = ids->pairs[i].index;
	ids->n_dense = (size_t)last;
	freep(&ids->pairs);
	ids->pairs = NULL;
	ids->n_pairs = ids->max_pairs = 0;
	return 0;
}

int pprof_ids_seal(struct pprof_ids *ids, uint64_t *ret_duplicate)
{
	*ret_duplicate = 0;
	if (!ids->n_pairs)
		return 0;
	qsort(ids->pairs, ids->n_pairs, sizeof(*ids->pairs), pprof_ids_compare);
	for (size_t i = 0; i < ids->n_pairs; i++) {
		uint64_t id = ids->pairs[i].id;

		if (id <= ids->n_dense || (i && ids->pairs[i - 1].id == id)) {
			*ret_duplicate = id;
			return 0;
		}
	}
	return pprof_ids_make_dense(ids);
}

uint32_t pprof_ids_bisect(const struct pprof_ids *ids, uint64_t id)
{
	size_t at = partition_point(ids->n_pairs, i, ids->pairs[i].id < id);

	if (at < ids->n_pairs && ids->pairs[at].id == id)
		return ids->pairs[at].index;
	return UINT32_MAX;
}
