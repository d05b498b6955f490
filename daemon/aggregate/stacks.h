/* SPDX-License-Identifier: MIT */
#ifndef PROFD_AGGREGATE_STACKS_H
#define PROFD_AGGREGATE_STACKS_H

/*
 * The set of distinct stacks of one window. A stack is its frames, in order, and how its walk
 * ended; equality compares all of it, so that a hash collision never merges two stacks.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct stack {
	const uint64_t *frames; /* leaf first, see common/frame.h */
	uint32_t n_frames;
	uint16_t n_kernel; /* of these, the first ones */
	uint8_t quality;   /* enum stack_quality */
	uint8_t reason;
};

struct stacks;

int stacks_new(struct stacks **ret);
void stacks_free(struct stacks *stacks);
DEFINE_CLEANUP(struct stacks *, stacks_free)

enum {
	AGGREGATE_E_OK,
	AGGREGATE_E_FULL, /* there is no room for it below max_bytes: it was not added or counted */
};

/*
 * Finds or adds @stack (frames are copied). A new one is added only if stacks_bytes() stays within
 * @max_bytes. Returns AGGREGATE_E_* or negative errno.
 */
int stacks_intern(struct stacks *stacks, const struct stack *stack, size_t max_bytes,
		  uint32_t *ret_id);
/* Ids are 0 .. n - 1. The frames live as long as @stacks. */
struct stack stacks_get(const struct stacks *stacks, uint32_t id);
/* Heap memory held, bytes. */
size_t stacks_bytes(const struct stacks *stacks);

#endif
