/* SPDX-License-Identifier: MIT */
/*
 * Stacks lie one after the other in chunks that are never moved; the hash table refers to them by
 * id. A chunk holds at least one stack of any length, so that a long stack never fails for its
 * length alone.
 */
#include "daemon/aggregate/stacks.h"

#include <stdbool.h>
#include <string.h>

#include "daemon/aggregate/slots.h"

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
	struct slots slots;
	struct stored **stored; /* by id */
	uint32_t n_stored, capacity;
	struct chunk *chunks; /* the newest first */
	size_t chunk_bytes;
};

int stacks_new(struct stacks **ret)
{
	cleanup(stacks_freep) struct stacks *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	r = slots_init(&s->slots);
	if (r)
		return r;
	*ret = steal_ptr(&s);
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
	free(s->stored);
	free(s->slots.slots);
	free(s);
}

static uint64_t stack_hash(uint64_t seed, const struct stack *stack)
{
	uint64_t hash = hash_mix(seed, (uint64_t)stack->n_frames << 32 | stack->n_kernel << 16 |
					       stack->quality << 8 | stack->reason);

	for (uint32_t i = 0; i < stack->n_frames; i++)
		hash = hash_mix(hash, stack->frames[i]);
	return hash;
}

static uint64_t stored_hash(const void *owner, uint32_t id)
{
	const struct stacks *s = owner;
	struct stack stack = stacks_get(s, id);

	return stack_hash(s->slots.seed, &stack);
}

static bool stored_equal(const struct stored *stored, const struct stack *stack)
{
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
	uint64_t hash = stack_hash(s->slots.seed, stack);
	size_t bytes = stored_bytes(stack->n_frames), growth;
	uint32_t cursor = (uint32_t)hash;
	struct stored *stored;
	struct slot *slot;
	int r;

	for (;; cursor++) {
		slot = slots_probe(&s->slots, hash, &cursor);
		if (!slot->index)
			break;
		if (stored_equal(s->stored[slot->index - 1], stack)) {
			*ret_id = slot->index - 1;
			return STACKS_E_OK;
		}
	}

	growth = slots_growth(&s->slots) + chunk_growth(s, bytes) +
		 vector_growth(s->capacity, s->n_stored, sizeof(*s->stored));
	if (growth && stacks_bytes(s) + growth > max_bytes)
		return STACKS_E_FULL;
	r = vector_reserve((void **)&s->stored, &s->capacity, s->n_stored, sizeof(*s->stored));
	if (r)
		return r;
	stored = chunk_allocate(s, bytes);
	if (!stored)
		return error_origin(-ENOMEM);
	*stored = (struct stored){.n_frames = stack->n_frames,
				  .n_kernel = stack->n_kernel,
				  .quality = stack->quality,
				  .reason = stack->reason};
	memcpy(stored->frames, stack->frames, stack->n_frames * sizeof(uint64_t));
	s->stored[s->n_stored] = stored;
	r = slots_put(&s->slots, hash, s->n_stored, stored_hash, s);
	if (r)
		return r;
	*ret_id = s->n_stored++;
	return STACKS_E_OK;
}

struct stack stacks_get(const struct stacks *s, uint32_t id)
{
	const struct stored *stored = s->stored[id];

	return (struct stack){.frames = stored->frames,
			      .n_frames = stored->n_frames,
			      .n_kernel = stored->n_kernel,
			      .quality = stored->quality,
			      .reason = stored->reason};
}

uint32_t stacks_count(const struct stacks *s)
{
	return s->n_stored;
}

size_t stacks_bytes(const struct stacks *s)
{
	return sizeof(*s) + s->slots.n_slots * sizeof(struct slot) +
	       s->capacity * sizeof(*s->stored) + s->chunk_bytes;
}
