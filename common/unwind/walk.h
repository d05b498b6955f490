/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_WALK_H
#define PROFD_COMMON_UNWIND_WALK_H

/*
 * profd's own walk: over a copy of a stack, by the same tables and steps as the BPF programs'. It
 * begins where theirs gave up, or at the leaf. Pure, but for the callbacks.
 *
 * Per frame: the mapping of the pc; the rule of its image's table; where that has none a guess
 * (guess.h), where there is no table the frame pointer; a restorer without call frame information
 * (musl, Go) by its code. It ends at a root, or with a reason of common/reasons.h (ends.h decides
 * which), or because something is missing that the caller may be able to get: then the state is
 * that of the frame it stopped at, and walk_run() goes on from there.
 *
 * What cannot be a caller ends the walk as broken: FRAME_POINTER where a frame pointer led there
 * (the step's, or the base of a rule), RULE elsewhere, UNMAPPED for an address of no mapping that
 * a rule or the registers gave. That address stays in the stack if it can be one of user code (else
 * it would be a frame of another kind, common/frame.h); one of a frame pointer does not.
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
	/*
	 * @length bytes of the code at @address, which @mapping holds; false if they cannot be had
	 * without waiting. NULL: never, and nothing is guessed.
	 */
	bool (*read_code)(void *userdata, const struct unwind_mapping *mapping, uint64_t address,
			  uint8_t *ret, size_t length);
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

/*
 * An address on the stack, and which frame it is in: the first one whose caller's stack pointer is
 * above it. Or one of code, and the next frame that is in it.
 */
struct walk_anchor {
	uint64_t address;
	uint32_t at;      /* index in the walk's frames; WALK_UNPLACED: not known (yet) */
	uint32_t n_bytes; /* of the code; 0: the address is on the stack */
	bool is_loop;     /* the frame's own stack pointer is not above it, or code it is */
};

#define WALK_UNPLACED UINT32_MAX

struct walk {
	struct unwind_registers registers;
	uint64_t start_stack;          /* mm->start_stack, 0 unknown: nothing is above it */
	uint64_t start_code, end_code; /* the mm's, both 0 unknown: for 32-bit programs */
	bool had_no_room;              /* there is no copy because nobody had room for one */
	uint64_t *frames; /* the caller's, room for max_frames; n_frames are there already */
	uint32_t n_frames, max_frames;
	bool pushed; /* the frame of `registers` is in frames already */
	/* To be placed, in the order of frames; the first next_anchor of them are. */
	struct walk_anchor *anchors;
	uint32_t n_anchors, next_anchor;
	struct unwind_memory memory;
	uint32_t guess_work; /* guess.h */

	/* Outcomes. */
	uint8_t quality, reason; /* WALK_ENDED */
	uint32_t slot;           /* WALK_TABLE */
	uint64_t address;        /* WALK_MEMORY */
};

/* Returns enum walk_outcome. */
int walk_run(struct walk *walk, const struct walk_maps *maps);
/*
 * Ends a walk that lacks something for good: quality and reason by what is missing. Memory above
 * the copy that holds the stack pointer is a copy that was too short, other memory is unreadable.
 */
void walk_give_up(struct walk *walk, int outcome);

#endif
