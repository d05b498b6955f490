/* SPDX-License-Identifier: MIT */
/* Walks through code that a table has no rules for. What is guessed is test_guess.c's. */
#include "tests/unit/unwind/walk_fixture.h"

#if defined(UNWIND_X86_64)
#define WORK (1u << 14) /* that a walk does at most */

static const uint8_t call_rax[] = {0, 0, 0, 0, 0, 0, 0xff, 0xd0};

/* Behind a call of whatever is in a register. */
static void put_call(struct world *w, uint64_t caller)
{
	w->code = call_rax;
	w->code_at = caller - sizeof(call_rax);
}

static void test_to_the_root(void **state)
{
	struct world *w = *state;

	put_call(w, TABLE + ROOT + 9);
	begin(w, TABLE + GAP + 1, BASE, 5);
	put(w, BASE + 8, 7);
	put(w, BASE + 16, TABLE + ROOT + 9);
	ASSERT_ENDS(w, STACK_GUESSED, 0, IN_TABLE(GAP + 1), IN_TABLE(ROOT + 8));
	assert_int_equal(w->walk.registers.sp, BASE + 24);
	/* A guess above a rule, and rules above that. */
	begin(w, TABLE + BY_SP, BASE, 5);
	put(w, BASE + 8, TABLE + GAP + 8);
	put(w, BASE + 24, TABLE + ROOT + 9);
	put(w, BASE + 16, 0);
	ASSERT_ENDS(w, STACK_GUESSED, 0, IN_TABLE(BY_SP), IN_TABLE(GAP + 7), IN_TABLE(ROOT + 8));
	/* Nothing looks like it, and the frame pointer leads nowhere. */
	begin(w, TABLE + GAP + 1, BASE, 5);
	put(w, BASE + 8, 0);
	put(w, BASE + 24, 0);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(GAP + 1));
}

static void test_the_same_as_the_frame_pointer(void **state)
{
	struct world *w = *state;

	put_call(w, TABLE + ROOT + 9);
	begin(w, TABLE + GAP + 1, BASE, BASE + 16);
	put(w, BASE + 16, 0);
	put(w, BASE + 24, TABLE + ROOT + 9);
	/* Whatever the call leads to, it may be here by a jump. */
	ASSERT_ENDS(w, STACK_GUESSED, 0, IN_TABLE(GAP + 1), IN_TABLE(ROOT + 8));
	/* Where code cannot be read, nobody knows; where it never can, there is no guess. */
	w->code = NULL;
	begin(w, TABLE + GAP + 1, BASE, BASE + 16);
	ASSERT_ENDS(w, STACK_GUESSED, 0, IN_TABLE(GAP + 1), IN_TABLE(ROOT + 8));
	w->maps.read_code = NULL;
	begin(w, TABLE + GAP + 1, BASE, BASE + 16);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(GAP + 1), IN_TABLE(ROOT + 8));
}

static void test_not_in_other_code(void **state)
{
	static const uint64_t others[] = {NONE, NO_CFI, REFUSED};
	struct world *w = *state;

	put_call(w, TABLE + ROOT + 9);
	put(w, BASE, TABLE + ROOT + 9);
	for (unsigned i = 0; i < 3; i++) {
		begin(w, others[i] + 1, BASE, 5);
		assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
		assert_int_equal(w->walk.quality, STACK_BROKEN);
		assert_int_equal(w->walk.n_frames, 1);
	}
	begin(w, TABLE + GAP + 1, BASE, 5);
	w->walk.registers.has_pointers = 1;
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(GAP + 1));
}

/* The table of a caller is not there yet. */
static void test_waits_for_a_table(void **state)
{
	struct world *w = *state;

	put_call(w, ABSENT + ROOT + 9);
	begin(w, TABLE + GAP + 1, BASE, 5);
	put(w, BASE, ABSENT + ROOT + 9);
	copy_stack(w, BASE, TOP);
	assert_int_equal(walk_run(&w->walk, &w->maps), WALK_TABLE);
	assert_int_equal(w->walk.slot, SLOT_ABSENT);
	assert_int_equal(w->walk.n_frames, 1);
	world_load(w, SLOT_ABSENT, 200);
	assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
	assert_quality(w, STACK_GUESSED, 0);
	assert_int_equal(w->walk.n_frames, 2);
	assert_int_equal(w->frames[1], frame_in_image(ABSENT_NO, OFFSET + ROOT + 8));
}

static void test_enough_is_enough(void **state)
{
	struct world *w = *state;

	put_call(w, TABLE + ROOT + 9);
	begin(w, TABLE + GAP + 1, BASE, 5);
	put(w, BASE + 16, TABLE + ROOT + 9);
	w->walk.guess_work = WORK - 2;
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_GUESSES, IN_TABLE(GAP + 1));
	begin(w, TABLE + GAP + 1, BASE, 5);
	ASSERT_ENDS(w, STACK_GUESSED, 0, IN_TABLE(GAP + 1), IN_TABLE(ROOT + 8));
	assert_in_range(w->walk.guess_work, 3, 1000);
}
#else
static void test_none(void **state)
{
	struct world *w = *state;

	begin(w, TABLE + GAP + 1, BASE, 5);
	put(w, BASE, TABLE + ROOT + 9);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(GAP + 1));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(UNWIND_X86_64)
		WORLD_TEST(test_to_the_root),
		WORLD_TEST(test_the_same_as_the_frame_pointer),
		WORLD_TEST(test_not_in_other_code),
		WORLD_TEST(test_waits_for_a_table),
		WORLD_TEST(test_enough_is_enough),
#else
		WORLD_TEST(test_none),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
