/* SPDX-License-Identifier: MIT */
#include "client/analysis/pair_table.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/profile/profile_table.h"

#define SLOTS_MIN 256u

static size_t pair_table_slot_index(const struct pair_table *t, uint64_t key)
{
	uint64_t x = (key ^ t->seed) * t->multiplier;

	/* The upper bits of a product depend on all lower ones, but not the other way round. */
	x ^= x >> 32;
	return (size_t)((x * t->multiplier) >> t->shift);
}

static struct pair_table_slot *pair_table_find(const struct pair_table *t, uint64_t key)
{
	size_t i = pair_table_slot_index(t, key);

	while (t->slots[i].value != PAIR_TABLE_NONE && t->slots[i].key != key)
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

static int pair_table_grow(struct pair_table *t)
{
	struct pair_table old = *t;
	struct profile_hash_key key;

	if (!t->n_slots) {
		profile_hash_key_init(&key);
		t->seed = key.seed;
		t->multiplier = key.multiplier | 1;
	}
	t->n_slots = old.n_slots ? old.n_slots * 2 : SLOTS_MIN;
	t->slots = malloc(t->n_slots * sizeof(*t->slots));
	if (!t->slots) {
		*t = old;
		return -1;
	}
	t->shift = 64 - (unsigned)__builtin_ctzll(t->n_slots);
	pair_table_clear(t);
	for (size_t i = 0; i < old.n_slots; i++)
		if (old.slots[i].value != PAIR_TABLE_NONE)
			*pair_table_find(t, old.slots[i].key) = old.slots[i];
	t->n_used = old.n_used;
	free(old.slots);
	return 0;
}

void pair_table_deinit(struct pair_table *t)
{
	freep(&t->slots);
	*t = (struct pair_table){0};
}

void pair_table_clear(struct pair_table *t)
{
	for (size_t i = 0; i < t->n_slots; i++)
		t->slots[i] = (struct pair_table_slot){.value = PAIR_TABLE_NONE};
	t->n_used = 0;
}

struct pair_table_slot *pair_table_at(struct pair_table *t, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b;
	struct pair_table_slot *slot;

	if (t->n_used >= t->n_slots / 8 * 5 && pair_table_grow(t))
		return NULL;
	slot = pair_table_find(t, key);
	if (slot->value == PAIR_TABLE_NONE) {
		slot->key = key;
		t->n_used++;
	}
	return slot;
}

uint32_t pair_table_get(const struct pair_table *t, uint32_t a, uint32_t b)
{
	return t->n_slots ? pair_table_find(t, (uint64_t)a << 32 | b)->value : PAIR_TABLE_NONE;
}
