/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PPROF_IDS_H
#define PROFD_COMMON_PROFILE_PPROF_IDS_H

/*
 * profile.proto's ids (any nonzero 64-bit numbers) to our indices. Writers number from 1, as a
 * rule: then the ids are an index themselves, which the thirty million look-ups of a big profile
 * need. Those that are not the next number are kept as pairs, which take four times the memory;
 * where ids are few for their size, they are bisected: slower, but no choice of ids makes it worse
 * than that.
 * Internal to common/profile.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pprof_id {
	uint64_t id;
	uint32_t index;
};

/* All zero is an empty map. */
struct pprof_ids {
	uint32_t *dense; /* index by id - 1 */
	size_t n_dense, max_dense;
	struct pprof_id *pairs; /* the others; sorted by id after pprof_ids_seal() */
	size_t n_pairs, max_pairs;
};

void pprof_ids_deinit(struct pprof_ids *ids);
/* @id is not 0. Returns 0 or -ENOMEM. */
int pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t index);
/* Readies the map for look-ups; *ret_duplicate is an id that came twice, or 0. 0 or -ENOMEM. */
int pprof_ids_seal(struct pprof_ids *ids, uint64_t *ret_duplicate);
uint32_t pprof_ids_bisect(const struct pprof_ids *ids, uint64_t id);

/* The index of @id, or PROFILE_NONE (all bits set). */
static inline uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
	return id - 1 < ids->n_dense ? ids->dense[id - 1] : pprof_ids_bisect(ids, id);
}

#endif
