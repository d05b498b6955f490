/* SPDX-License-Identifier: MIT */
#ifndef PROFD_AGGREGATE_SLOTS_H
#define PROFD_AGGREGATE_SLOTS_H

/*
 * What the two hash tables of this folder share: a seed that strangers cannot know, a mixing step,
 * and slots that hold an index + 1 beside the upper half of the hash.
 *
 * Own code rather than uthash because these tables are the hot path: one probe per sample, no
 * pointer chase, 8 bytes a slot, and memory that can be summed exactly for the budget.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/error.h"

struct slot {
	uint32_t tag;   /* upper half of the hash */
	uint32_t index; /* of the entry, plus 1; 0: empty */
};

struct slots {
	struct slot *slots;
	uint32_t n_slots; /* power of two */
	uint32_t n_used;
	uint64_t seed;
};

#define SLOTS_MIN 64

static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * 0x9e3779b97f4a7c15u;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t hash_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static inline int slots_init(struct slots *s)
{
	if (getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) != sizeof(s->seed))
		s->seed = (uint64_t)(uintptr_t)s; /* early in boot: the address must do */
	s->slots = calloc(SLOTS_MIN, sizeof(*s->slots));
	if (!s->slots)
		return error_origin(-ENOMEM);
	s->n_slots = SLOTS_MIN;
	s->n_used = 0;
	return 0;
}

/* Bytes that the next slots_put() allocates: 0, or the difference to the doubled table. */
static inline size_t slots_growth(const struct slots *s)
{
	if ((uint64_t)(s->n_used + 1) * 4 <= (uint64_t)s->n_slots * 3)
		return 0;
	return (size_t)s->n_slots * sizeof(*s->slots);
}

/*
 * The slot of the next candidate for @hash, or of the first empty place. *cursor starts at the
 * hash itself and carries the position between calls.
 */
static inline struct slot *slots_probe(const struct slots *s, uint64_t hash, uint32_t *cursor)
{
	for (;; ++*cursor) {
		struct slot *slot = &s->slots[*cursor & (s->n_slots - 1)];

		if (!slot->index || slot->tag == hash_tag(hash))
			return slot;
	}
}

/* The hash of an entry, needed when the table doubles. */
typedef uint64_t (*slots_hash_fn)(const void *owner, uint32_t index);

/* Puts @index under @hash, which must not be there yet. */
static inline int slots_put(struct slots *s, uint64_t hash, uint32_t index, slots_hash_fn hash_of,
			    const void *owner)
{
	if (slots_growth(s)) {
		struct slots bigger = {.n_slots = s->n_slots * 2, .seed = s->seed};

		bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
		if (!bigger.slots)
			return error_origin(-ENOMEM);
		for (uint32_t i = 0; i < s->n_slots; i++)
			if (s->slots[i].index)
				slots_put(&bigger, hash_of(owner, s->slots[i].index - 1),
					  s->slots[i].index - 1, hash_of, owner);
		free(s->slots);
		*s = bigger;
	}

	for (uint32_t cursor = (uint32_t)hash;; cursor++) {
		struct slot *slot = &s->slots[cursor & (s->n_slots - 1)];

		if (slot->index)
			continue;
		*slot = (struct slot){.tag = hash_tag(hash), .index = index + 1};
		s->n_used++;
		return 0;
	}
}

/* Makes room for one more element of @size in an array of *capacity. */
static inline int vector_reserve(void **array, uint32_t *capacity, uint32_t n, size_t size)
{
	uint32_t bigger = *capacity ? *capacity * 2 : 64;
	void *moved;

	if (n < *capacity)
		return 0;
	if (bigger < *capacity)
		return error_origin(-E2BIG);
	moved = reallocarray(*array, bigger, size);
	if (!moved)
		return error_origin(-ENOMEM);
	*array = moved;
	*capacity = bigger;
	return 0;
}

/* Bytes that the next vector_reserve() adds. */
static inline size_t vector_growth(uint32_t capacity, uint32_t n, size_t size)
{
	return n < capacity ? 0 : (capacity ? capacity : 64) * size;
}

#endif
