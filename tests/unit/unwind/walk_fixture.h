/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_UNWIND_WALK_FIXTURE_H
#define TESTS_UNIT_UNWIND_WALK_FIXTURE_H

/*
 * A process made by hand: six mappings, one of which has a table of a few functions; a stack that
 * is an array; and a walk over a copy of it. The copy is malloc'ed to the byte, so that a sanitizer
 * sees who reads past it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/frame.h"
#include "common/reasons.h"
#include "common/unwind/step.h"
#include "common/unwind/table.h"
#include "common/unwind/walk.h"

/* The stack. */
#define BASE   UINT64_C(0x7ffd00001000)
#define WORDS  8192u
#define TOP    (BASE + WORDS * 8)
#define FRAMES 1024u

/* Mappings: an image with a table, and what may be the matter with others. */
#define TABLE     UINT64_C(0x10000)
#define NONE      UINT64_C(0x30000) /* generated code */
#define NO_CFI    UINT64_C(0x50000)
#define REFUSED   UINT64_C(0x70000)
#define ABSENT    UINT64_C(0x90000) /* as TABLE, when it is loaded */
#define FAR       UINT64_C(0xb0000) /* mapped from beyond 4 GiB of its file */
#define LENGTH    UINT64_C(0x10000)
#define OFFSET    0x1000u
#define NOWHERE   UINT64_C(0xdd000) /* no mapping */
#define TABLE_NO  1u
#define ABSENT_NO 4u
#define NOW_S     77u

enum { SLOT_TABLE, SLOT_NO_CFI, SLOT_REFUSED, SLOT_ABSENT, N_SLOTS };

/* Functions of TABLE, by their offset from it. */
#define BY_SP   0x100u /* a frame of 16 bytes, return address included */
#define BY_FP   0x200u /* push of the frame pointer, and it is the CFA's base */
#define ROOT    0x300u
#define SIGNAL  0x401u /* the restorer; its rule begins a byte before it */
#define ODD     0x500u
#define GAP     0x600u /* no rule */
#define TO_HERE 0x700u /* CFA = sp + 8, as code that has no clue has it */
#define END     0x800u

#define IN_TABLE(function) frame_in_image(TABLE_NO, OFFSET + (function))

struct world {
	uint64_t stack[WORDS];
	uint64_t words[512];
	struct table_slot slots[N_SLOTS];
	struct unwind_mapping found;
	const uint8_t *code; /* what read_code() gives, at code_at only */
	uint64_t code_at;
	unsigned n_code_reads;
	uint64_t frames[FRAMES + 1];
	uint8_t *copy;
	struct walk_maps maps;
	struct walk walk;
};

static inline const struct unwind_mapping *world_find(void *userdata, uint64_t address)
{
	static const struct unwind_mapping all[] = {
		{TABLE, TABLE + LENGTH, OFFSET, TABLE_NO, SLOT_TABLE},
		{NONE, NONE + LENGTH, 0, 0, SLOT_NONE},
		{NO_CFI, NO_CFI + LENGTH, 0, 2, SLOT_NO_CFI},
		{REFUSED, REFUSED + LENGTH, 0, 3, SLOT_REFUSED},
		{ABSENT, ABSENT + LENGTH, OFFSET, ABSENT_NO, SLOT_ABSENT},
		{FAR, FAR + LENGTH, UINT64_C(0xffffff00), 5, SLOT_TABLE},
	};
	struct world *w = userdata;

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (address >= all[i].start && address < all[i].end) {
			w->found = all[i]; /* the next call overwrites it */
			return &w->found;
		}
	return NULL;
}

static inline bool world_read_code(void *userdata, const struct unwind_mapping *mapping,
				   uint64_t address, uint8_t *ret, size_t length)
{
	struct world *w = userdata;

	assert_true(address >= mapping->start && address + length <= mapping->end);
	w->n_code_reads++;
	if (!w->code || address != w->code_at)
		return false;
	memcpy(ret, w->code, length);
	return true;
}

static inline void world_load(struct world *w, unsigned slot, uint32_t first)
{
	uint64_t rules[] = {
		RULE_WORD(RULE_UNKNOWN),
		rule_pack(&(struct rule){.kind = RULE_CFA, .cfa_offset = 16, .ra_offset = -8}),
		rule_pack(&(struct rule){.kind = RULE_CFA,
					 .base = RULE_BASE_FP,
					 .cfa_offset = 16,
					 .fp_kind = RULE_FP_AT_CFA,
					 .fp_offset = -16,
					 .ra_offset = -8}),
		RULE_WORD(RULE_ROOT),
		RULE_WORD(RULE_SIGNAL),
		RULE_WORD(RULE_ODD),
		rule_pack(&(struct rule){.kind = RULE_CFA, .cfa_offset = 8, .ra_offset = -8}),
	};
	struct cfi_row table[] = {
		{OFFSET + BY_SP, 1},      {OFFSET + BY_FP, 2}, {OFFSET + ROOT, 3},
		{OFFSET + SIGNAL - 1, 4}, {OFFSET + ODD, 5},   {OFFSET + GAP, 0},
		{OFFSET + TO_HERE, 6},    {OFFSET + END, 0},
	};
	const struct cfi_rows rows = {.rows = table, .n_rows = 8, .rules = rules, .n_rules = 7};
	uint64_t *words;
	size_t n;

	assert_int_equal(table_pack(&rows, 512 - first, &w->slots[slot], &words, &n), 0);
	memcpy(w->words + first, words, n * sizeof(*words));
	w->slots[slot].first = first;
	free(words);
}

static inline int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	world_load(w, SLOT_TABLE, 5);
	w->slots[SLOT_NO_CFI].state = TABLE_NO_CFI;
	w->slots[SLOT_REFUSED].state = TABLE_REFUSED;
	w->slots[SLOT_ABSENT].state = TABLE_ABSENT;
	w->maps = (struct walk_maps){
		.find = world_find,
		.read_code = world_read_code,
		.userdata = w,
		.words = w->words,
		.n_words = 512,
		.slots = w->slots,
		.n_slots = N_SLOTS,
		.now_s = NOW_S,
	};
	*state = w;
	return 0;
}

static inline int world_teardown(void **state)
{
	struct world *w = *state;

	free(w->copy);
	free(w);
	return 0;
}

static inline void put(struct world *w, uint64_t address, uint64_t word)
{
	assert_true(address >= BASE && address + 8 <= TOP);
	memcpy((uint8_t *)w->stack + (address - BASE), &word, sizeof(word));
}

/* A copy of the stack from @from up to @to is all that the walk has. */
static inline void copy_stack(struct world *w, uint64_t from, uint64_t to)
{
	size_t length = to - from;

	free(w->copy);
	w->copy = malloc(length ? length : 1);
	assert_non_null(w->copy);
	memcpy(w->copy, (uint8_t *)w->stack + (from - BASE), length);
	w->walk.memory = (struct unwind_memory){.regions = {{from, length, w->copy}},
						.n_regions = 1};
}

/* A walk that begins at the leaf @pc, with a copy of the stack as it is now. */
static inline void begin(struct world *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->walk = (struct walk){
		.registers = {.pc = pc, .sp = sp, .fp = fp, .known = UNWIND_KNOWN_FP},
		.frames = w->frames,
		.max_frames = FRAMES,
	};
	w->n_code_reads = 0;
	copy_stack(w, BASE, TOP);
}

static inline void assert_frames(const struct world *w, const uint64_t *frames, uint32_t n)
{
	assert_int_equal(w->walk.n_frames, n);
	for (uint32_t i = 0; i < n; i++)
		if (w->frames[i] != frames[i])
			fail_msg("frame %u is %#llx, not %#llx", i,
				 (unsigned long long)w->frames[i], (unsigned long long)frames[i]);
}

static inline void assert_quality(const struct world *w, unsigned quality, unsigned reason)
{
	assert_int_equal(w->walk.quality, quality);
	assert_int_equal(w->walk.reason, reason);
}

/* Each test has a world of its own. */
#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

/* Walks over the whole stack as it is now, which ends as said, with these frames. */
#define ASSERT_ENDS(w, quality, reason, ...)                                                    \
	do {                                                                                    \
		const uint64_t expected[] = {__VA_ARGS__};                                      \
		copy_stack(w, BASE, TOP);                                                       \
		assert_int_equal(walk_run(&(w)->walk, &(w)->maps), WALK_ENDED);                 \
		assert_quality(w, quality, reason);                                             \
		assert_frames(w, expected, (uint32_t)(sizeof(expected) / sizeof(expected[0]))); \
	} while (0)

#endif
