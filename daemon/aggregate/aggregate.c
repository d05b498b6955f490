/* SPDX-License-Identifier: MIT */
/*
 * Three tables of the same make: stacks, thread names, and the entries that count. Memory is
 * checked before anything grows, so that max_bytes is never passed.
 */
#include "daemon/aggregate/aggregate.h"

#include <stdbool.h>
#include <string.h>

#include "daemon/aggregate/slots.h"

struct thread_name {
	char text[16];
};

struct aggregate {
	size_t max_bytes;
	struct stacks *stacks;
	struct slots entry_slots, name_slots;
	struct aggregate_entry *entries;
	uint32_t n_entries, entry_capacity;
	struct thread_name *names;
	uint32_t n_names, name_capacity;
	uint64_t count;
};

int aggregate_new(struct aggregate **ret, size_t max_bytes)
{
	cleanup(aggregate_freep) struct aggregate *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return error_origin(-ENOMEM);
	a->max_bytes = max_bytes;
	r = stacks_new(&a->stacks);
	if (!r)
		r = slots_init(&a->entry_slots);
	if (!r)
		r = slots_init(&a->name_slots);
	if (r)
		return r;
	*ret = steal_ptr(&a);
	return 0;
}

void aggregate_free(struct aggregate *a)
{
	if (!a)
		return;
	stacks_free(a->stacks);
	free(a->entry_slots.slots);
	free(a->name_slots.slots);
	free(a->entries);
	free(a->names);
	free(a);
}

static uint64_t name_hash(const struct aggregate *a, const struct thread_name *name)
{
	uint64_t words[2];

	memcpy(words, name->text, sizeof(words));
	return hash_mix(hash_mix(a->name_slots.seed, words[0]), words[1]);
}

static uint64_t name_hash_of(const void *owner, uint32_t index)
{
	const struct aggregate *a = owner;

	return name_hash(a, &a->names[index]);
}

static bool would_exceed_limit(const struct aggregate *a, size_t growth)
{
	return growth && aggregate_bytes(a) + growth > a->max_bytes;
}

static int aggregate_intern_name(struct aggregate *a, const char *text, uint32_t *ret_id)
{
	struct thread_name name = {};
	uint32_t cursor;
	uint64_t hash;
	int r;

	memcpy(name.text, text, strnlen(text, sizeof(name.text) - 1));
	hash = name_hash(a, &name);
	for (cursor = (uint32_t)hash;; cursor++) {
		struct slot *slot = slots_probe(&a->name_slots, hash, &cursor);

		if (!slot->index)
			break;
		if (memcmp(&a->names[slot->index - 1], &name, sizeof(name)) == 0) {
			*ret_id = slot->index - 1;
			return AGGREGATE_E_OK;
		}
	}

	if (would_exceed_limit(a,
			       slots_growth(&a->name_slots) +
				       vector_growth(a->name_capacity, a->n_names, sizeof(name))))
		return AGGREGATE_E_FULL;
	r = vector_reserve((void **)&a->names, &a->name_capacity, a->n_names, sizeof(name));
	if (r)
		return r;
	a->names[a->n_names] = name;
	r = slots_put(&a->name_slots, hash, a->n_names, name_hash_of, a);
	if (r)
		return r;
	*ret_id = a->n_names++;
	return AGGREGATE_E_OK;
}

static uint64_t entry_hash(const struct aggregate *a, const struct aggregate_entry *e)
{
	uint64_t hash = hash_mix(a->entry_slots.seed, e->process);

	hash = hash_mix(hash, (uint64_t)e->generation << 32 | e->thread_name);
	return hash_mix(hash, (uint64_t)e->tid << 32 | e->stack);
}

static uint64_t entry_hash_of(const void *owner, uint32_t index)
{
	const struct aggregate *a = owner;

	return entry_hash(a, &a->entries[index]);
}

static bool entry_equal(const struct aggregate_entry *a, const struct aggregate_entry *b)
{
	return a->process == b->process && a->generation == b->generation &&
	       a->thread_name == b->thread_name && a->tid == b->tid && a->stack == b->stack;
}

static int find_or_add_entry(struct aggregate *a, const struct aggregate_entry *key,
			     struct aggregate_entry **ret)
{
	uint64_t hash = entry_hash(a, key);
	int r;

	for (uint32_t cursor = (uint32_t)hash;; cursor++) {
		struct slot *slot = slots_probe(&a->entry_slots, hash, &cursor);

		if (!slot->index)
			break;
		if (entry_equal(&a->entries[slot->index - 1], key)) {
			*ret = &a->entries[slot->index - 1];
			return AGGREGATE_E_OK;
		}
	}

	if (would_exceed_limit(a, slots_growth(&a->entry_slots) + vector_growth(a->entry_capacity,
										a->n_entries,
										sizeof(*key))))
		return AGGREGATE_E_FULL;
	r = vector_reserve((void **)&a->entries, &a->entry_capacity, a->n_entries, sizeof(*key));
	if (r)
		return r;
	a->entries[a->n_entries] = *key;
	r = slots_put(&a->entry_slots, hash, a->n_entries, entry_hash_of, a);
	if (r)
		return r;
	*ret = &a->entries[a->n_entries++];
	return AGGREGATE_E_OK;
}

int aggregate_add(struct aggregate *a, const struct aggregate_key *key, uint64_t weight)
{
	return aggregate_add_counts(a, key, 1, weight);
}

int aggregate_add_counts(struct aggregate *a, const struct aggregate_key *key, uint64_t count,
			 uint64_t weight)
{
	struct aggregate_entry wanted = {.process = key->process,
					 .generation = key->generation,
					 .tid = key->tid};
	size_t others = aggregate_bytes(a) - stacks_bytes(a->stacks);
	struct aggregate_entry *entry;
	int r;

	r = aggregate_intern_name(a, key->thread_name, &wanted.thread_name);
	if (r)
		return r;
	r = stacks_intern(a->stacks, &key->stack, a->max_bytes > others ? a->max_bytes - others : 0,
			  &wanted.stack);
	if (r)
		return r == STACKS_E_FULL ? AGGREGATE_E_FULL : r;
	r = find_or_add_entry(a, &wanted, &entry);
	if (r)
		return r;
	entry->count += count;
	entry->weight += weight;
	a->count += count;
	return AGGREGATE_E_OK;
}

const struct aggregate_entry *aggregate_entries(const struct aggregate *a, size_t *ret_n)
{
	*ret_n = a->n_entries;
	return a->entries;
}

struct stack aggregate_stack(const struct aggregate *a, uint32_t stack)
{
	return stacks_get(a->stacks, stack);
}

const char *aggregate_thread_name(const struct aggregate *a, uint32_t thread_name)
{
	return a->names[thread_name].text;
}

uint64_t aggregate_count(const struct aggregate *a)
{
	return a->count;
}

size_t aggregate_bytes(const struct aggregate *a)
{
	return sizeof(*a) + stacks_bytes(a->stacks) +
	       (a->entry_slots.n_slots + a->name_slots.n_slots) * sizeof(struct slot) +
	       a->entry_capacity * sizeof(*a->entries) + a->name_capacity * sizeof(*a->names);
}
