/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PROFILE_TABLE_H
#define PROFD_COMMON_PROFILE_PROFILE_TABLE_H

/*
 * The look-up side of struct profile: a hash table from a thing's content to its index, and an
 * arena for texts that never move. Internal to common/profile, and
 * to modules that keep things like it.
 *
 * Own code, because the generic tables at hand keep a node with several pointers for each entry:
 * uthash would take 56 bytes for each of a million samples, this one takes 16. Open addressing with
 * linear probing; a slot holds 32 bits of hash and the index, so growing never touches the things,
 * and a comparison is made only when all 32 bits agree. The comparison is of the whole content: two
 * things are never merged because their hashes are.
 *
 * The hash is keyed with random numbers per profile, because the author of a profile could
 * otherwise choose contents that collide, and make reading quadratic. The order of hashes shows
 * nowhere: everything that is listed is listed in the order of its index.
 */
#include <stddef.h>
#include <stdint.h>

struct profile_table_slot {
	uint32_t hash, index; /* index PROFILE_NONE: free */
};

/* All zero is an empty table. */
struct profile_table {
	struct profile_table_slot *slots;
	size_t n_slots, n_used; /* n_slots is a power of two, or 0 */
};

struct profile_hash_key {
	uint64_t seed, multiplier;
};

/* Never fails: where the kernel gives no random numbers, addresses have to do. */
void profile_hash_key_init(struct profile_hash_key *key);
uint32_t profile_hash(const struct profile_hash_key *key, const void *data, size_t length);

void profile_table_deinit(struct profile_table *table);
/* Empties the table, keeps its memory. */
void profile_table_clear(struct profile_table *table);
/* Bytes that the next profile_table_reserve() adds; mostly 0. */
size_t profile_table_growth(const struct profile_table *table);
/* Makes room for one more entry. Returns 0, -ENOMEM or -E2BIG. */
int profile_table_reserve(struct profile_table *table);
/* Adds an entry that is not there; room has been reserved. */
void profile_table_insert(struct profile_table *table, uint32_t hash, uint32_t index);
/*
 * The index of the entry of this @hash for which @equal(owner, index, key) holds, or PROFILE_NONE.
 */
uint32_t profile_table_find(const struct profile_table *table, uint32_t hash,
			    int (*equal)(const void *owner, uint32_t index, const void *key),
			    const void *owner, const void *key);

struct profile_arena_chunk;

/* All zero is an empty arena. */
struct profile_arena {
	struct profile_arena_chunk *chunk; /* the newest first */
	size_t used, size;                 /* of the newest */
	size_t bytes;                      /* of all chunks */
};

void profile_arena_deinit(struct profile_arena *arena);
/* A NUL-terminated copy that lives as long as the arena, or NULL without memory. */
const char *profile_arena_copy(struct profile_arena *arena, const char *text, size_t length);

#endif
