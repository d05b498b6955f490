/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_PAIR_TABLE_H
#define PROFD_CLIENT_ANALYSIS_PAIR_TABLE_H

/*
 * A table from two numbers to a third: who calls whom, once for every frame of every stack. What
 * the numbers are of is the caller's. Open addressing, keyed with random numbers, because whoever
 * wrote a profile could else choose who calls whom so that all of it collides.
 */
#include <stddef.h>
#include <stdint.h>

#define PAIR_TABLE_NONE UINT32_MAX

struct pair_table_slot {
	uint64_t key;
	uint32_t value; /* PAIR_TABLE_NONE: free */
};

/* All zero is an empty table. */
struct pair_table {
	struct pair_table_slot *slots;
	size_t n_slots, n_used; /* n_slots: a power of two, or 0 */
	uint64_t seed, multiplier;
	unsigned shift;
};

void pair_table_deinit(struct pair_table *table);
/* Forgets all pairs, and keeps the memory. */
void pair_table_clear(struct pair_table *table);
/*
 * The slot of the pair: its value is PAIR_TABLE_NONE if it is new, and the caller sets it before
 * the next call. Returns NULL without memory.
 */
struct pair_table_slot *pair_table_at(struct pair_table *table, uint32_t a, uint32_t b);

/* The value of a pair, or PAIR_TABLE_NONE. */
uint32_t pair_table_get(const struct pair_table *table, uint32_t a, uint32_t b);

#endif
