/* SPDX-License-Identifier: MIT */
/*
 * Stacks lie one after the other in chunks that are never moved; the hash table refers to them by
 * id. A chunk holds at least one stack of any length, so that a long stack never fails for its
 * length alone.
 */
#include "daemon/aggregate/stacks.h"

#include <string.h>

#include "daemon/aggregate/vector.h"

#define CHUNK_BYTES (64 * 1024)

/* One stack as it lies in a chunk. */
struct stored {
	uint32_t n_frames;
	uint16_t n_kernel;
	uint8_t quality;
	uint8_t reason;
	uint64_t frames[];
};

struct chunk {
	struct chunk *next;
	size_t size, used; /* bytes of data */
	uint64_t data[];
};

struct stacks {
	struct vector stored; /* of pointers to struct stored */
	struct profile_hash_key hash_key;
	struct chunk *chunks; /* the newest first */
	size_t chunk_bytes;
};

int stacks_new(struct stacks **ret)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return error_origin(-ENOMEM);
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
	vector_deinit(&s->stored);
	free(s);
}

static struct stored *stacks_stored(const struct stacks *s, uint32_t id)
{
	return ((struct stored **)s->stored.all)[id];
}

/* How a walk ended makes no other hash: most stacks of the same frames ended alike. */
static uint32_t stack_hash(const struct stacks *s, const struct stack *stack)
{
	return profile_hash(&s->hash_key, stack->frames, stack->n_frames * sizeof(uint64_t));
}

static int stacks_is_stack(const void *owner, uint32_t index, const void *key)
{
	const struct stored *stored = stacks_stored(owner, index);
	const struct stack *stack = key;

	return stored->n_frames == stack->n_frames && stored->n_kernel == stack->n_kernel &&
	       stored->quality == stack->quality && stored->reason == stack->reason &&
	       memcmp(stored->frames, stack->frames, stack->n_frames * sizeof(uint64_t)) == 0;
}

static size_t stored_bytes(uint32_t n_frames)
{
	return sizeof(struct stored) + n_frames * sizeof(uint64_t);
}

static size_t chunk_growth(const struct stacks *s, size_t bytes)
{
	if (s->chunks && s->chunks->size - s->chunks->used >= bytes)
		return 0;
	return sizeof(struct chunk) + (bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
}

static struct stored *chunk_allocate(struct stacks *s, size_t bytes)
{
	size_t growth = chunk_growth(s, bytes);
	struct chunk *chunk = s->chunks;
	struct stored *stored;

	if (growth) {
		chunk = malloc(growth);
		if (!chunk)
			return NULL;
		*chunk = (struct chunk){.next = s->chunks, .size = growth - sizeof(struct chunk)};
		s->chunks = chunk;
		s->chunk_bytes += growth;
	}
	stored = (void *)((char *)chunk->data + chunk->used);
	chunk->used += bytes;
	return stored;
}

int stacks_intern(struct stacks *s, const struct stack *stack, size_t max_bytes, uint32_t *ret_id)
{
	uint32_t hash = stack_hash(s, stack);
	size_t bytes = stored_bytes(stack->n_frames), growth;
	struct stored *stored;
	int r;

	*ret_id = profile_table_find(&s->stored.table, hash, stacks_is_stack, s, stack);
	if (*ret_id != PROFILE_NONE)
		return STACKS_E_OK;
	growth = chunk_growth(s, bytes) + vector_growth(&s->stored, sizeof(stored));
	if (growth && stacks_bytes(s) + growth > max_bytes)
		return STACKS_E_FULL;
	stored = chunk_allocate(s, bytes);
	if (!stored)
		return error_origin(-ENOMEM);
	*stored = (struct stored){.n_frames = stack->n_frames,
				  .n_kernel = stack->n_kernel,
				  .quality = stack->quality,
				  .reason = stack->reason};
	memcpy(stored->frames, stack->frames, stack->n_frames * sizeof(uint64_t));
	r = vector_add(&s->stored, sizeof(stored), hash);
	if (r)
		return r;
	*ret_id = s->stored.n - 1;
	((struct stored **)s->stored.all)[*ret_id] = stored;
	return STACKS_E_OK;
}

struct stack stacks_get(const struct stacks *s, uint32_t id)
{
	const struct stored *stored = stacks_stored(s, id);

	return (struct stack){.frames = stored->frames,
			      .n_frames = stored->n_frames,
			      .n_kernel = stored->n_kernel,
			      .quality = stored->quality,
			      .reason = stored->reason};
}

uint32_t stacks_count(const struct stacks *s)
{
	return s->stored.n;
}

size_t stacks_bytes(const struct stacks *s)
{
	return sizeof(*s) + vector_bytes(&s->stored, sizeof(struct stored *)) + s->chunk_bytes;
}
