/* SPDX-License-Identifier: MIT */
#include "common/profile/pprof_ids.h"

#include <stdlib.h>

#include "common/profile/profile.h"
#include "common/room.h"

void pprof_ids_deinit(struct pprof_ids *ids)
{
	free(ids->dense);
	free(ids->others);
	profile_table_deinit(&ids->table);
	*ids = (struct pprof_ids){0};
}

static int pprof_ids_equal(const void *owner, uint32_t index, const void *id)
{
	const struct pprof_ids *ids = owner;

	return ids->others[index].id == *(const uint64_t *)id;
}

uint32_t pprof_ids_find_other(const struct pprof_ids *ids, uint64_t id)
{
	uint32_t at = ids->n_others
			      ? profile_table_find(&ids->table,
						   profile_hash(&ids->hash_key, &id, sizeof(id)),
						   pprof_ids_equal, ids, &id)
			      : PROFILE_NONE;

	return at == PROFILE_NONE ? PROFILE_NONE : ids->others[at].index;
}

int pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t index)
{
	int r;

	if (pprof_ids_find(ids, id) != PROFILE_NONE)
		return PPROF_IDS_E_DUPLICATE;
	if (id == ids->n_dense + 1)
		return room_append(&ids->dense, &ids->max_dense, &ids->n_dense, index);
	if (!ids->n_others)
		profile_hash_key_init(&ids->hash_key);
	r = profile_table_reserve(&ids->table)
		    ?: room_append(&ids->others, &ids->max_others, &ids->n_others,
				   (struct pprof_id){.id = id, .index = index});
	if (!r)
		profile_table_insert(&ids->table, profile_hash(&ids->hash_key, &id, sizeof(id)),
				     (uint32_t)ids->n_others - 1);
	return r;
}
