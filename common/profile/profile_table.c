/* SPDX-License-Identifier: MIT */
/*
 * A table doubles when three quarters of its slots are taken; its things stay where they are. Texts
 * fill chunks from the front; what is left of a chunk when a text does not fit is not used any
 * more.
 */
#include "common/profile/profile_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/error.h"
#include "common/profile/profile.h"

#define SLOTS_MIN   ((size_t)64)
#define SLOTS_MAX   ((size_t)1 << 32)  /* more would need more than 32 bits of hash */
#define ARENA_CHUNK ((size_t)64 << 10) /* or as large as one text */

void profile_hash_key_init(struct profile_hash_key *key)
{
	if (getrandom(key, sizeof(*key), GRND_NONBLOCK) != (ssize_t)sizeof(*key)) {
		key->seed = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
		key->multiplier = (uint64_t)(uintptr_t)&key * UINT64_C(0xd6e8feb86659fd93);
	}
	key->multiplier |= 1;
}

/* Multiplies to 128 bits and folds: each input bit reaches each output bit. */
static uint64_t profile_hash_fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint32_t profile_hash(const struct profile_hash_key *key, const void *data, size_t length)
{
	const uint8_t *bytes = data;
	uint64_t hash = key->seed ^ length;
	uint64_t word;

	for (; length >= sizeof(word); bytes += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = profile_hash_fold(hash ^ word, key->multiplier) + key->seed;
	}
	word = 0;
	if (length)
		memcpy(&word, bytes, length);
	hash = profile_hash_fold(hash ^ word, key->multiplier) + key->seed;
	hash = profile_hash_fold(hash, key->multiplier ^ UINT64_C(0xa0761d6478bd642e));
	return (uint32_t)(hash ^ (hash >> 32));
}

void profile_table_deinit(struct profile_table *table)
{
	free(table->slots);
	*table = (struct profile_table){0};
}

void profile_table_clear(struct profile_table *table)
{
	if (table->slots)
		memset(table->slots, 0xff, table->n_slots * sizeof(*table->slots));
	table->n_used = 0;
}

size_t profile_table_growth(const struct profile_table *table)
{
	if (table->n_used + 1 <= table->n_slots / 4 * 3)
		return 0;
	return (table->n_slots ? table->n_slots : SLOTS_MIN) * sizeof(*table->slots);
}

int profile_table_reserve(struct profile_table *table)
{
	struct profile_table grown = {0};

	if (!profile_table_growth(table))
		return 0;
	if (table->n_slots >= SLOTS_MAX)
		return error_origin(-E2BIG);
	grown.n_slots = table->n_slots ? table->n_slots * 2 : SLOTS_MIN;
	grown.slots = malloc(grown.n_slots * sizeof(*grown.slots));
	if (!grown.slots)
		return error_origin(-ENOMEM);
	profile_table_clear(&grown);
	for (size_t i = 0; i < table->n_slots; i++) {
		if (table->slots[i].index != PROFILE_NONE)
			profile_table_insert(&grown, table->slots[i].hash, table->slots[i].index);
	}
	free(table->slots);
	*table = grown;
	return 0;
}

void profile_table_insert(struct profile_table *table, uint32_t hash, uint32_t index)
{
	size_t i = hash & (table->n_slots - 1);

	while (table->slots[i].index != PROFILE_NONE)
		i = (i + 1) & (table->n_slots - 1);
	table->slots[i] = (struct profile_table_slot){.hash = hash, .index = index};
	table->n_used++;
}

uint32_t profile_table_find(const struct profile_table *table, uint32_t hash,
			    int (*equal)(const void *owner, uint32_t index, const void *key),
			    const void *owner, const void *key)
{
	const struct profile_table_slot *slot;
	size_t i;

	if (!table->n_slots)
		return PROFILE_NONE;
	i = hash & (table->n_slots - 1);
	for (slot = &table->slots[i]; slot->index != PROFILE_NONE; slot = &table->slots[i]) {
		if (slot->hash == hash && equal(owner, slot->index, key))
			return slot->index;
		i = (i + 1) & (table->n_slots - 1);
	}
	return PROFILE_NONE;
}

struct profile_arena_chunk {
	struct profile_arena_chunk *next;
	char text[];
};

void profile_arena_deinit(struct profile_arena *arena)
{
	struct profile_arena_chunk *next;

	for (struct profile_arena_chunk *c = arena->chunk; c; c = next) {
		next = c->next;
		free(c);
	}
	*arena = (struct profile_arena){0};
}

const char *profile_arena_copy(struct profile_arena *arena, const char *text, size_t length)
{
	char *copy;

	if (arena->size - arena->used <= length) {
		const size_t size = length < ARENA_CHUNK ? ARENA_CHUNK : length + 1;
		struct profile_arena_chunk *c = malloc(sizeof(*c) + size);

		if (!c)
			return NULL;
		c->next = arena->chunk;
		arena->chunk = c;
		arena->used = 0;
		arena->size = size;
		arena->bytes += sizeof(*c) + size;
	}
	copy = arena->chunk->text + arena->used;
	arena->used += length + 1;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}
