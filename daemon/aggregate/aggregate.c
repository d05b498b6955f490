/* SPDX-License-Identifier: MIT */
/*
 * Three tables of the same make: stacks, thread names, and the entries that count. Memory is
 * checked before anything grows, so that max_bytes is never passed.
 */
#include "daemon/aggregate/aggregate.h"

#include <stddef.h>
#include <string.h>

#include "daemon/aggregate/vector.h"

/* Of an entry; what comes behind is counted. No padding in between. */
#define AGGREGATE_KEY_BYTES offsetof(struct aggregate_entry, count)

struct thread_name {
	char text[16];
};

/* Things that are the same if they begin with the same bytes. */
struct keyed {
	struct vector vector;
	size_t key_bytes;
};

struct aggregate {
	size_t max_bytes;
	struct stacks *stacks;
	struct keyed entries, names;
	struct profile_hash_key hash_key;
	uint64_t count;
};

int aggregate_new(struct aggregate **ret, size_t max_bytes)
{
	cleanup(aggregate_freep) struct aggregate *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return error_origin(-ENOMEM);
	a->max_bytes = max_bytes;
	a->entries = (struct keyed){{.size = sizeof(struct aggregate_entry)}, AGGREGATE_KEY_BYTES};
	a->names = (struct keyed){{.size = sizeof(struct thread_name)}, sizeof(struct thread_name)};
	profile_hash_key_init(&a->hash_key);
	r = stacks_new(&a->stacks);
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
	vector_deinit(&a->entries.vector);
	vector_deinit(&a->names.vector);
	free(a);
}

static int aggregate_is_thing(const void *owner, uint32_t index, const void *key)
{
	const struct keyed *k = owner;

	return memcmp((const char *)k->vector.all + index * k->vector.size, key, k->key_bytes) == 0;
}

/* The number of @thing in @k, which is added if it is not there. AGGREGATE_E_* or negative errno.
 */
static int aggregate_intern(struct aggregate *a, struct keyed *k, const void *thing, uint32_t *ret)
{
	uint32_t hash = profile_hash(&a->hash_key, thing, k->key_bytes);
	struct vector *v = &k->vector;
	size_t growth;
	int r;

	*ret = profile_table_find(&v->table, hash, aggregate_is_thing, k, thing);
	if (*ret != PROFILE_NONE)
		return AGGREGATE_E_OK;
	growth = vector_growth(v);
	if (growth && aggregate_bytes(a) + growth > a->max_bytes)
		return AGGREGATE_E_FULL;
	r = vector_add(v, hash);
	if (r)
		return r;
	*ret = v->n - 1;
	memcpy((char *)v->all + *ret * v->size, thing, v->size);
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
	struct thread_name name = {0};
	uint32_t id;
	int r;

	memcpy(name.text, key->thread_name, strnlen(key->thread_name, sizeof(name.text) - 1));
	r = aggregate_intern(a, &a->names, &name, &wanted.thread_name);
	if (r)
		return r;
	r = stacks_intern(a->stacks, &key->stack, a->max_bytes > others ? a->max_bytes - others : 0,
			  &wanted.stack);
	if (r)
		return r;
	r = aggregate_intern(a, &a->entries, &wanted, &id);
	if (r)
		return r;
	entry = (struct aggregate_entry *)a->entries.vector.all + id;
	entry->count += count;
	entry->weight += weight;
	a->count += count;
	return AGGREGATE_E_OK;
}

const struct aggregate_entry *aggregate_entries(const struct aggregate *a, size_t *ret_n)
{
	*ret_n = a->entries.vector.n;
	return a->entries.vector.all;
}

struct stack aggregate_stack(const struct aggregate *a, uint32_t stack)
{
	return stacks_get(a->stacks, stack);
}

const char *aggregate_thread_name(const struct aggregate *a, uint32_t thread_name)
{
	return ((const struct thread_name *)a->names.vector.all)[thread_name].text;
}

uint64_t aggregate_count(const struct aggregate *a)
{
	return a->count;
}

size_t aggregate_bytes(const struct aggregate *a)
{
	return sizeof(*a) + stacks_bytes(a->stacks) + vector_bytes(&a->entries.vector) +
	       vector_bytes(&a->names.vector);
}
