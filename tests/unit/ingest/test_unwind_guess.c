/* SPDX-License-Identifier: MIT */
/* Guesses of the BPF programs' walk. What is guessed is tests/unit/unwind/test_guess.c's. */
#include "tests/unit/ingest/unwind_fixture.h"

/* The image's code: behind each address that is a multiple of eight, a call by a register ends. */
static const char calls[8] = {0, 0, 0, 0, 0, 0, (char)0xff, (char)0xd0};

static int setup_calls(void **state)
{
	int r = setup(state);

	long_text = calls;
	long_bytes = sizeof(calls);
	ctx.regs.ip = image_address(AT_NOTHING + 1);
	ctx.regs.bp = 5;
	return r;
}

static void test_to_the_root(void **state)
{
	(void)state;
	stack.wide[0] = 7;
	stack.wide[1] = image_address(AT_ROOT + 9); /* no call before it */
	stack.wide[2] = image_address(AT_ROOT + 8);
	walk(true, 1024);
	assert_end(2, STACK_GUESSED, 0);
	assert_int_equal(scratch.body[2], in_image(AT_NOTHING + 1));
	assert_int_equal(scratch.body[3], in_image(AT_ROOT + 7));
	assert_int_equal(scratch.unwind.r.sp, STACK_BASE + 24);
	/* A rule above it has to hold: CFA = sp + 32. */
	again();
	stack.wide[2] = image_address(AT_BODY + 8);
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_FRAME_POINTER);
	again();
	stack.wide[3 + 3] = image_address(AT_ROOT + 8);
	walk(true, 1024);
	assert_end(3, STACK_GUESSED, 0);
	assert_int_equal(scratch.body[4], in_image(AT_ROOT + 7));
}

static void test_the_same_as_the_frame_pointer(void **state)
{
	(void)state;
	ctx.regs.bp = STACK_BASE + 8;
	stack.wide[1] = 0;
	stack.wide[2] = image_address(AT_ROOT + 8);
	walk(true, 1024);
	assert_end(2, STACK_GUESSED, 0);
	assert_int_equal(scratch.unwind.r.fp, 0);
	/* Nothing says that it is a return address. */
	again();
	stack.wide[2] = image_address(AT_ROOT + 9);
	walk(true, 1024);
	assert_end(2, STACK_GUESSED, 0);
}

/* A signal's frame in between does not make the rest certain. */
static void test_is_carried_on(void **state)
{
	(void)state;
	stack.wide[0] = image_address(AT_SIGNAL + 1); /* nothing calls it */
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_FRAME_POINTER); /* no frame behind it */
	again();
	stack.wide[1 + UNWIND_SIGNAL_PC / 8] = image_address(AT_ROOT + 4);
	stack.wide[1 + UNWIND_SIGNAL_SP / 8] = STACK_BASE + 1024;
	walk(true, 1024);
	assert_end(3, STACK_GUESSED, 0);
	assert_int_equal(scratch.body[3], in_image(AT_SIGNAL + 1));
	assert_int_equal(scratch.body[4], in_image(AT_ROOT + 4));
}

static void test_an_absent_table(void **state)
{
	(void)state;
	maps.mappings[2] = (struct unwind_mapping){.start = image_address(AT_END),
						   .end = image_address(AT_END) + 0x1000,
						   .image = IMAGE + 1,
						   .slot = 4};
	publish(PID, 3, 500);
	stack.wide[0] = image_address(AT_END) + 8;
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_NO_TABLE);
	assert_unfinished(true, true);
	assert_int_equal(scratch.unwind.r.pc, image_address(AT_NOTHING + 1));
}

/* The rest is profd's. */
static void test_enough_is_enough(void **state)
{
	(void)state;
	for (size_t i = 0; i < STACK_BYTES / 8; i++)
		stack.wide[i] = image_address(AT_BODY + 9);
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_GUESSES);
	assert_unfinished(true, true);
	assert_in_range(n_reads, UNWIND_GUESS_WORK / UNWIND_GUESS_FIND / 2, UNWIND_GUESS_WORK);
	/* Of each walk. */
	again();
	stack.wide[0] = image_address(AT_ROOT + 8);
	walk(true, 1024);
	assert_end(2, STACK_GUESSED, 0);
}

static void test_not_where_code_has_frame_pointers(void **state)
{
	struct unwind_registers *r = &scratch.unwind.r;

	(void)state;
	stack.wide[0] = image_address(AT_ROOT + 8);
	walk(true, 1024);
	assert_end(2, STACK_GUESSED, 0);
	assert_int_equal(r->has_pointers, 0);
	r->has_pointers = 1;
	assert_false(unwind_guess_begin(&scratch.unwind.guess, r, IMAGE));
	/* A 32-bit program's has, or nothing. */
	again();
	ctx.regs.cs = 0x23;
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_FRAME_POINTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_to_the_root, setup_calls),
		cmocka_unit_test_setup(test_the_same_as_the_frame_pointer, setup_calls),
		cmocka_unit_test_setup(test_is_carried_on, setup_calls),
		cmocka_unit_test_setup(test_an_absent_table, setup_calls),
		cmocka_unit_test_setup(test_enough_is_enough, setup_calls),
		cmocka_unit_test_setup(test_not_where_code_has_frame_pointers, setup_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
