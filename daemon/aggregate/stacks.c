/* SPDX-License-Identifier: MIT */
/*
 * The stacks' frames lie one after the other in chunks that are never moved; the hash table refers
 * to the stacks by id. A chunk holds at least one stack of any length, so that a long stack never
 * fails for its length alone.
 */
#include "daemon/aggregate/stacks.h"

#include <string.h>

#include "daemon/aggregate/vector.h"

#define CHUNK_BYTES (64 * 1024)

struct chunk {
	struct chunk *next;
	size_t size, used; /* bytes of data */
	uint64_t data[];
};

struct stacks {
	struct vector all; /* of struct stack */
	struct profile_hash_key hash_key;
	struct chunk *chunks; /* the newest first */
	size_t chunk_bytes;
};

int stacks_new(struct stacks **ret)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return error_origin(-ENOMEM);
	s->all.size = sizeof(struct stack);
	profile_hash_key_init(&s->hash_key);
	*ret = s;
	return 0;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	while (s->chunks) {
		struct chunk *chunk = s->chunks;

		s->chunks = chunk->next;
		free(chunk);
	}
	vector_deinit(&s->all);
	free(s);
}

/* How a walk ended makes no other hash: most stacks of the same frames ended alike. */
static uint32_t stack_hash(const struct stacks *s, const struct stack *stack)
{
	return profile_hash(&s->hash_key, stack->frames, stack->n_frames * sizeof(uint64_t));
}

static int stacks_is_stack(const void *owner, uint32_t index, const void *key)
{
	const struct stack known = stacks_get(owner, index), *stack = key;

	return known.n_frames == stack->n_frames && known.n_kernel == stack->n_kernel &&
	       known.quality == stack->quality && known.reason == stack->reason &&
	       memcmp(known.frames, stack->frames, known.n_frames * sizeof(uint64_t)) == 0;
}

static size_t chunk_growth(const struct stacks *s, size_t bytes)
{
	if (s->chunks && s->chunks->size - s->chunks->used >= bytes)
		return 0;
	return sizeof(struct chunk) + (bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
}

static uint64_t *chunk_allocate(struct stacks *s, size_t bytes)
{
	size_t growth = chunk_growth(s, bytes);
	struct chunk *chunk = s->chunks;
	uint64_t *frames;

	if (growth) {
		chunk = malloc(growth);
		if (!chunk)
			return NULL;
		*chunk = (struct chunk){.next = s->chunks, .size = growth - sizeof(struct chunk)};
		s->chunks = chunk;
		s->chunk_bytes += growth;
	}
	frames = chunk->data + chunk->used / sizeof(uint64_t);
	chunk->used += bytes;
	return frames;
}

int stacks_intern(struct stacks *s, const struct stack *stack, size_t max_bytes, uint32_t *ret_id)
{
	uint32_t hash = stack_hash(s, stack);
	size_t bytes = stack->n_frames * sizeof(uint64_t), growth;
	struct stack added = *stack;
	uint64_t *frames;
	int r;

	*ret_id = profile_table_find(&s->all.table, hash, stacks_is_stack, s, stack);
	if (*ret_id != PROFILE_NONE)
		return AGGREGATE_E_OK;
	growth = chunk_growth(s, bytes) + vector_growth(&s->all);
	if (growth && stacks_bytes(s) + growth > max_bytes)
		return AGGREGATE_E_FULL;
	added.frames = frames = chunk_allocate(s, bytes);
	if (!frames)
		return error_origin(-ENOMEM);
	memcpy(frames, stack->frames, bytes);
	r = vector_add(&s->all, hash);
	if (r)
		return r;
	*ret_id = s->all.n - 1;
	((struct stack *)s->all.all)[*ret_id] = added;
	return AGGREGATE_E_OK;
}

struct stack stacks_get(const struct stacks *s, uint32_t id)
{
	return ((const struct stack *)s->all.all)[id];
}

size_t stacks_bytes(const struct stacks *s)
{
	return sizeof(*s) + vector_bytes(&s->all) + s->chunk_bytes;
}
