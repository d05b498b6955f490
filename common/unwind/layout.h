/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_UNWIND_LAYOUT_H
#define PROFD_COMMON_UNWIND_LAYOUT_H

/*
 * The memory that walks read: profd writes it, the BPF programs and profd itself search it. Three
 * arrays:
 *
 *   words     64-bit words, in which each image's table is one contiguous run
 *   slots     one struct table_slot per image: where its table is
 *   mappings  struct unwind_mapping, in which each address space is one contiguous run, sorted by
 *             start; children share their parent's run
 *
 * A table, from word slot.first on:
 *
 *   rules     n_rules words (rule.h): the image's dictionary of rules
 *   chunks    n_chunks + 1 halves of words: index of the first row at or behind the beginning of
 *             each chunk of 1 KiB of the file, from chunk first_chunk on; the last one is n_rows
 *   rows      n_rows halves: rule's index << 10 | offset in the chunk; ascending
 *
 * Halves come in pairs, the low half of a word first; each of the two arrays begins with a whole
 * word. A row rules from its offset up to the next row's. The last row is that of RULE_UNKNOWN,
 * where the code ends; before the first one is RULE_UNKNOWN as well. So a search reads one or two
 * words of chunks, a binary search over the rows of one KiB of code (some twenty), and a rule.
 *
 * Offsets are file offsets: what a mapping's offset leads to without knowing segments.
 *
 * Reuse. A run that is not needed any more is unlinked (slot.state, or the root replaced) and its
 * memory is used again a second later at the earliest: no walk takes that long, but for a virtual
 * CPU that did not run meanwhile. slot.version then tells: it changes whenever a slot's table does,
 * before the first word is overwritten.
 */
#include "common/unwind/rule.h"

#define TABLE_CHUNK_BITS 10
#define TABLE_CHUNK      (1u << TABLE_CHUNK_BITS)
#define TABLE_RULES_MAX  (1u << (32 - TABLE_CHUNK_BITS))
/* The most rows a chunk can have is one for each byte: the search's steps are bounded by that. */
#define TABLE_SEARCH_STEPS (TABLE_CHUNK_BITS + 1)

enum table_state {
	TABLE_ABSENT, /* not loaded (yet, or any more): leave the walk to profd */
	TABLE_LOADED,
	TABLE_NO_CFI,  /* the image has no call frame information: frame pointers */
	TABLE_REFUSED, /* it has, and it cannot be used: frame pointers, then BROKEN_NO_TABLE */
};

struct table_slot {
	unwind_u32 state; /* enum table_state; written last */
	unwind_u32 version;
	unwind_u32 first; /* word */
	unwind_u32 n_rules;
	unwind_u32 n_chunks;
	unwind_u32 first_chunk;
	unwind_u32 n_rows;
	unwind_u32 used_s; /* CLOCK_MONOTONIC seconds, when it was last searched; by the searcher */
};

#define TABLE_SLOTS_MAX 16384
#define SLOT_NONE       0xffffffffu /* no slot: code without a table, frame pointers */

/* An executable mapping of a process. */
struct unwind_mapping {
	unwind_u64 start, end; /* addresses */
	unwind_u64 offset;     /* of start in the file, bytes */
	unwind_u32 image;      /* number for FRAME_IMAGE; 0: frames are addresses */
	unwind_u32 slot;       /* of its table, or SLOT_NONE */
};

#define UNWIND_MAPPINGS_MAX  65535 /* of one process */
#define UNWIND_MAPPING_STEPS 17    /* of the search over them */

/* The address space of a process, by pid. */
struct unwind_root {
	unwind_u64 until_ns; /* process events up to here are in it; CLOCK_MONOTONIC */
	unwind_u32 first;    /* mapping */
	unwind_u16 n;        /* mappings */
	unwind_u16 runtime;  /* which of them an interpreter's code is, from 1; 0: none */
	unwind_u32 pid;      /* again, as a check */
	unwind_u32 version;  /* changes with each publication; 0 never */
};

_Static_assert(sizeof(struct table_slot) == 32, "struct table_slot");
_Static_assert(sizeof(struct unwind_mapping) == 32, "struct unwind_mapping");
_Static_assert(sizeof(struct unwind_root) == 24, "struct unwind_root");

#endif
