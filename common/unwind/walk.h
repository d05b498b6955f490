/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_WALK_H
#define PROFD_COMMON_UNWIND_WALK_H

/*
 * profd's own walk: over a copy of a stack, by the same tables and steps as the BPF programs'. It
 * begins where theirs gave up, or at the leaf. Pure, but for the callbacks.
 *
 * Per frame: the mapping of the pc; the rule of its image's table; without one the frame pointer;
 * a restorer without call frame information (musl) by its code. It ends at a root, or with a reason
 * of common/reasons.h, or because something is missing that the caller may be able to get: then
 * the state is that of the frame it stopped at, and walk_go() goes on from there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/layout.h"
#include "common/unwind/registers.h"
#include "common/unwind/walk_memory.h"

struct walk_maps {
	/* The mapping at @address, or NULL. Borrowed until the next call. */
	const struct unwind_mapping *(*find)(void *userdata, uint64_t address);
	void *userdata;
	const uint64_t *words;
	size_t n_words;
	struct table_slot *slots; /* used_s is written */
	size_t n_slots;
	uint32_t now_s; /* for used_s */
};

enum walk_outcome {
	WALK_ENDED,  /* quality and reason are final */
	WALK_TABLE,  /* needs the table of .slot, which is absent */
	WALK_MEMORY, /* needs the word at .address, which no region holds */
};

struct walk {
	struct unwind_registers registers;
	uint64_t start_stack; /* mm->start_stack, 0 unknown: nothing is above it */
	uint64_t *frames;     /* the caller's, room for max_frames; n_frames are there already */
	uint32_t n_frames, max_frames;
	bool pushed; /* the frame of `registers` is in frames already */
	struct unwind_memory memory;

	/* Outcomes. */
	uint8_t quality, reason; /* WALK_ENDED */
	uint32_t slot;           /* WALK_TABLE */
	uint64_t address;        /* WALK_MEMORY */
};

/* Returns enum walk_outcome. */
int walk_go(struct walk *walk, const struct walk_maps *maps);
/* Ends a walk that lacks something for good: quality and reason by what is missing. */
void walk_give_up(struct walk *walk, int outcome);

#endif
