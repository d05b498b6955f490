/* SPDX-License-Identifier: MIT */
/*
 * Walks that stop because something is missing: gone on with, they are what they would have been
 * without the stop; given up, they say why. And walks over memory that says anything.
 */
#include "tests/unit/unwind/walk_fixture.h"

static int go(struct world *w)
{
	return walk_run(&w->walk, &w->maps);
}

/* A stack of each kind of step: rules, frame pointers, and a signal from another part of it. */
static void mixed_stack(struct world *w)
{
	const uint64_t context = BASE + 56;

	put(w, BASE + 8, TABLE + BY_FP + 3); /* of a frame of BY_SP */
	put(w, BASE + 24, BASE + 40);        /* of one of BY_FP */
	put(w, BASE + 32, NONE + 5);
	put(w, BASE + 40, 1); /* of generated code */
	put(w, BASE + 48, TABLE + SIGNAL);
	/* of the signal that called it */
	put(w, context + UNWIND_SIGNAL_PC, TABLE + BY_FP);
	put(w, context + UNWIND_SIGNAL_SP, BASE + 1008);
	put(w, context + UNWIND_SIGNAL_FP, BASE + 1024);
	put(w, BASE + 1024, BASE + 2048); /* of the BY_FP that was interrupted */
	put(w, BASE + 1032, ABSENT + BY_SP + 1);
	put(w, BASE + 1048, ABSENT + ROOT + 2);
}

#define N_MIXED 7

static void assert_mixed(const struct world *w, uint32_t n)
{
	const uint64_t frames[N_MIXED] = {
		IN_TABLE(BY_SP),
		IN_TABLE(BY_FP + 2),
		NONE + 4,
		IN_TABLE(SIGNAL),
		IN_TABLE(BY_FP),
		frame_in_image(ABSENT_NO, OFFSET + BY_SP),
		frame_in_image(ABSENT_NO, OFFSET + ROOT + 1),
	};

	assert_frames(w, frames, n);
}

static void begin_mixed(struct world *w)
{
	mixed_stack(w);
	begin(w, TABLE + BY_SP, BASE, BASE + 24);
}

static void test_a_table_that_comes(void **state)
{
	struct world *w = *state;

	begin_mixed(w);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(go(w), WALK_TABLE);
		assert_int_equal(w->walk.slot, SLOT_ABSENT);
		assert_mixed(w, 6);
		assert_true(w->walk.pushed);
	}
	world_load(w, SLOT_ABSENT, 200);
	assert_int_equal(go(w), WALK_ENDED);
	assert_quality(w, STACK_COMPLETE, 0);
	assert_mixed(w, N_MIXED);
	assert_int_equal(w->slots[SLOT_ABSENT].used_s, NOW_S);
}

static void test_a_table_that_does_not(void **state)
{
	struct world *w = *state;

	begin_mixed(w);
	assert_int_equal(go(w), WALK_TABLE);
	walk_give_up(&w->walk, WALK_TABLE);
	assert_quality(w, STACK_BROKEN, BROKEN_NO_TABLE);
	assert_mixed(w, 6);
}

/* Between the table's coming and going, nobody forgets that a zero was the last. */
static void test_the_last_one_after_a_table(void **state)
{
	struct world *w = *state;

	begin(w, NONE, BASE, BASE + 8);
	put(w, BASE + 8, 0);
	put(w, BASE + 16, ABSENT + GAP + 1);
	copy_stack(w, BASE, TOP);
	assert_int_equal(go(w), WALK_TABLE);
	world_load(w, SLOT_ABSENT, 200);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, NONE, frame_in_image(ABSENT_NO, OFFSET + GAP));
	/* Nor between another walk and this one; but above a rule it means nothing any more. */
	begin(w, ABSENT + GAP + 1, BASE, 0);
	w->walk.registers.is_return = w->walk.registers.is_last = 1;
	ASSERT_ENDS(w, STACK_COMPLETE, 0, frame_in_image(ABSENT_NO, OFFSET + GAP));
	begin(w, TABLE + BY_SP + 1, BASE, 0);
	w->walk.registers.is_return = w->walk.registers.is_last = 1;
	put(w, BASE + 8, NONE + 5);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(BY_SP), NONE + 4);
}

/* Wherever the copy is cut: each word that lacks is asked for, and once all are there it is done.
 */
static void test_memory_that_comes(void **state)
{
	struct world *w = *state;

	world_load(w, SLOT_ABSENT, 200);
	for (uint64_t cut = 0; cut < 1100; cut += 4) {
		uint32_t n_before;

		begin_mixed(w);
		copy_stack(w, BASE, BASE + cut);
		if (go(w) == WALK_ENDED) {
			assert_true(cut >= 1056);
			continue;
		}
		n_before = w->walk.n_frames;
		/* A restorer is known to be one only when its context could be read. */
		w->frames[3] += n_before == 4;
		assert_mixed(w, n_before);
		w->frames[3] -= n_before == 4;
		assert_true(w->walk.pushed);
		assert_true(w->walk.address + 8 > BASE + cut && w->walk.address < BASE + 1056);
		assert_int_equal(go(w), WALK_MEMORY);
		assert_int_equal(w->walk.n_frames, n_before);
		w->walk.memory.regions[w->walk.memory.n_regions++] =
			(struct unwind_region){w->walk.address, TOP - w->walk.address,
					       (uint8_t *)w->stack + (w->walk.address - BASE)};
		if (go(w) == WALK_MEMORY) { /* a word below it is missing as well */
			assert_true(w->walk.address < w->walk.memory.regions[1].address);
			w->walk.memory.regions[w->walk.memory.n_regions++] =
				(struct unwind_region){BASE, sizeof(w->stack), (uint8_t *)w->stack};
			assert_int_equal(go(w), WALK_ENDED);
		}
		assert_quality(w, STACK_COMPLETE, 0);
		assert_mixed(w, N_MIXED);
	}
}

static void give_up(struct world *w, unsigned quality, unsigned reason)
{
	assert_int_equal(go(w), WALK_MEMORY);
	walk_give_up(&w->walk, WALK_MEMORY);
	assert_quality(w, quality, reason);
}

static void test_memory_that_does_not(void **state)
{
	struct world *w = *state;

	/* Right above the copy, in the middle of a word, and some frames later. */
	for (uint64_t cut = 0; cut <= 56; cut++) {
		begin_mixed(w);
		copy_stack(w, BASE, BASE + cut);
		give_up(w, STACK_TRUNCATED, TRUNCATED_COPY);
	}
	/* The copy begins below the stack pointer, or elsewhere. */
	begin_mixed(w);
	w->walk.registers.sp = BASE + 128;
	copy_stack(w, BASE, BASE + 130);
	give_up(w, STACK_TRUNCATED, TRUNCATED_COPY);
	begin_mixed(w);
	copy_stack(w, BASE + 64, BASE + 128);
	give_up(w, STACK_BROKEN, BROKEN_UNREADABLE);
	/* The interrupted stack is none that was copied. */
	begin_mixed(w);
	put(w, BASE + 56 + UNWIND_SIGNAL_SP, BASE + 0x100000);
	put(w, BASE + 56 + UNWIND_SIGNAL_FP, BASE + 0x100000);
	copy_stack(w, BASE, TOP);
	give_up(w, STACK_BROKEN, BROKEN_UNREADABLE);
	assert_int_equal(w->walk.n_frames, 5);
	/* A frame pointer far away is not a stack that goes on. */
	begin(w, TABLE + BY_FP, BASE, BASE + (UINT64_C(64) << 20));
	give_up(w, STACK_BROKEN, BROKEN_UNREADABLE);
	begin_mixed(w);
	w->walk.memory.n_regions = 0;
	give_up(w, STACK_BROKEN, BROKEN_UNREADABLE);
	begin_mixed(w);
	w->walk.memory.n_regions = 0;
	w->walk.had_no_room = true;
	give_up(w, STACK_BROKEN, BROKEN_NO_COPY);
}

/* Two frames of signals that point at each other: the depth ends it. */
static void test_in_circles(void **state)
{
	struct world *w = *state;

	begin(w, TABLE + SIGNAL, BASE, 0);
	put(w, BASE + UNWIND_SIGNAL_PC, TABLE + SIGNAL);
	put(w, BASE + UNWIND_SIGNAL_SP, BASE + 2048);
	put(w, BASE + 2048 + UNWIND_SIGNAL_PC, TABLE + SIGNAL);
	put(w, BASE + 2048 + UNWIND_SIGNAL_SP, BASE);
	copy_stack(w, BASE, TOP);
	assert_int_equal(go(w), WALK_ENDED);
	assert_quality(w, STACK_TRUNCATED, TRUNCATED_DEPTH);
	assert_int_equal(w->walk.n_frames, FRAMES);
}

static uint64_t random_word(void)
{
	static const uint64_t functions[] = {BY_SP, BY_FP, ROOT, SIGNAL, ODD, GAP, TO_HERE, END};
	static const uint64_t mappings[] = {TABLE, NONE, NO_CFI, REFUSED, FAR, ABSENT, NOWHERE};

	switch (random() % 8) {
	case 0:
		return (uint64_t)random() << 33 ^ (uint64_t)random();
	case 1:
		return mappings[random() % 7] + functions[random() % 8] + 1;
	case 2:
		return (uint64_t)random() % 8;
	case 3:
	case 4:
	case 5:
	case 6:
		return TABLE + functions[random() % 4 == 0] + 1;
	}
	return BASE + (uint64_t)random() % 8192 / 8 * 8;
}

/* Any stack and registers: it ends, in the room that it has, with a reason of the right list. */
static void test_random_stacks(void **state)
{
	static const unsigned n_reasons[] = {1, 0, N_TRUNCATED, N_BROKEN};
	struct world *w = *state;
	unsigned n[N_STACK_QUALITY] = {0}, deep = 0;

	srandom(6);
	for (unsigned i = 0; i < 3000; i++) {
		for (unsigned j = 0; j < 1024; j++)
			w->stack[j] = random_word();
		begin(w, random_word(), BASE + (uint64_t)random() % 4096 / 8 * 8, random_word());
		w->walk.start_stack = random() % 2 ? random_word() : 0;
		w->walk.registers.is_return = random() % 2;
		w->walk.registers.compat = random() % 8 == 0;
		for (unsigned round = 0; round < 3; round++) {
			int outcome = go(w);

			if (outcome == WALK_ENDED)
				break;
			walk_give_up(&w->walk, outcome);
		}
		assert_true(w->walk.n_frames <= FRAMES);
		assert_true(w->walk.quality < N_STACK_QUALITY);
		assert_true(w->walk.reason < n_reasons[w->walk.quality]);
		n[w->walk.quality]++;
		deep += w->walk.n_frames > 4;
	}
	assert_true(n[STACK_COMPLETE] > 0 && n[STACK_BROKEN] > 0 && deep > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_a_table_that_comes),
		WORLD_TEST(test_a_table_that_does_not),
		WORLD_TEST(test_the_last_one_after_a_table),
		WORLD_TEST(test_memory_that_comes),
		WORLD_TEST(test_memory_that_does_not),
		WORLD_TEST(test_in_circles),
		WORLD_TEST(test_random_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
