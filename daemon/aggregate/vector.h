/* SPDX-License-Identifier: MIT */
#ifndef PROFD_AGGREGATE_VECTOR_H
#define PROFD_AGGREGATE_VECTOR_H

/*
 * Arrays and hash tables whose growth is known before it happens, so that it can be counted against
 * a bound. Tables are those of common/profile: open addressing, 8 bytes a slot, no pointer chase on
 * the way of every sample, and keyed, as profiled programs choose the stacks.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/profile/profile.h"
#include "common/profile/profile_table.h"

/* Things by number, and a table that finds them. */
struct vector {
	size_t size; /* of a thing, set by the owner */
	void *all;
	uint32_t n, capacity;
	struct profile_table table;
};

/* Bytes that the next vector_add() allocates. */
static inline size_t vector_growth(const struct vector *v)
{
	size_t more = v->n < v->capacity ? 0 : v->capacity ? v->capacity : 64;

	return more * v->size + profile_table_growth(&v->table);
}

static inline size_t vector_bytes(const struct vector *v)
{
	return v->capacity * v->size + v->table.n_slots * sizeof(*v->table.slots);
}

/* Adds room for one more thing, which is found by @hash: the last one of v->all. */
static inline int vector_add(struct vector *v, uint32_t hash)
{
	uint32_t bigger = v->capacity ? v->capacity * 2 : 64;
	void *moved;
	int r;

	if (v->n == v->capacity) {
		if (bigger < v->capacity)
			return error_origin(-E2BIG);
		moved = reallocarray(v->all, bigger, v->size);
		if (!moved)
			return error_origin(-ENOMEM);
		v->all = moved;
		v->capacity = bigger;
	}
	r = profile_table_reserve(&v->table);
	if (r)
		return r;
	profile_table_insert(&v->table, hash, v->n++);
	return 0;
}

static inline void vector_deinit(struct vector *v)
{
	free(v->all);
	profile_table_deinit(&v->table);
}

#endif
