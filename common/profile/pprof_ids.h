/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PPROF_IDS_H
#define PROFD_COMMON_PROFILE_PPROF_IDS_H

/*
 * profile.proto's ids (any nonzero 64-bit numbers) to our indices. Writers number from 1, as a
 * rule: then the ids are an index themselves, which the thirty million look-ups of a big profile
 * need. Those that are not the next number are in a hash table, keyed like those of struct profile.
 * Internal to common/profile.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile_table.h"

enum {
	PPROF_IDS_E_OK,
	PPROF_IDS_E_DUPLICATE,
};

struct pprof_id {
	uint64_t id;
	uint32_t index;
};

/* All zero is an empty map. */
struct pprof_ids {
	uint32_t *dense; /* index by id - 1 */
	size_t n_dense, max_dense;
	struct pprof_id *others;
	size_t n_others, max_others;
	struct profile_table table; /* of the others */
	struct profile_hash_key hash_key;
};

void pprof_ids_deinit(struct pprof_ids *ids);
/* @id is not 0. Returns PPROF_IDS_E_*, -ENOMEM or -E2BIG. */
int pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t index);
uint32_t pprof_ids_find_other(const struct pprof_ids *ids, uint64_t id);

/* The index of @id, or PROFILE_NONE (all bits set). */
static inline uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
	return id - 1 < ids->n_dense ? ids->dense[id - 1] : pprof_ids_find_other(ids, id);
}

#endif
