/* SPDX-License-Identifier: MIT */
/* Where the user walk of the BPF programs ends, and what only looks like an end. */
#include "tests/unit/ingest/unwind_fixture.h"

/* Wrong, for profd as well: nothing that could be finished. */
static void test_broken_pointers(void **state)
{
	static const __u64 lasts[] = {
		1,                        /* argc, in programs on a C library without them */
		STACK_BASE + 16 + 3 * 32, /* the frame's own address: not rising */
		STACK_BASE,
		STACK_BASE + 5000 + 4, /* not a multiple of eight */
		0x7765737265666572,    /* not an address */
		0xffffffff81000000,
		STACK_BASE + (16 << 20), /* farther than a stack is large */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++) {
		again();
		build_chain(4, lasts[i]);
		walk(true, 1024);
		assert_end(5, STACK_BROKEN, BROKEN_FRAME_POINTER);
		assert_unfinished(false, false);
	}
}

static void test_first_pointer(void **state)
{
	(void)state;
	build_chain(4, 0);
	ctx.regs.bp = STACK_BASE - 8; /* below the stack pointer */
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_FRAME_POINTER);
	again();
	ctx.regs.bp = 0; /* just a number, in the middle of the program */
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_FRAME_POINTER);
}

static void test_start(void **state)
{
	(void)state;
	/* The first instructions: nothing can be above. */
	ctx.regs.bp = 0;
	ctx.regs.sp = mm.start_stack - 16;
	walk(true, 1024);
	assert_end(1, STACK_COMPLETE, 0);
	/* Nobody needs to have told of the process, if this is its very first instruction. */
	again();
	maps.changed[PID] = 600;
	ctx.regs.sp = mm.start_stack;
	walk(true, 1024);
	assert_end(1, STACK_COMPLETE, 0);
	assert_false(scratch.unwind.has_root);
	assert_int_equal(scratch.body[2], 0x401000);
	/* Else something may have been called already. */
	again();
	ctx.regs.sp = mm.start_stack - 8;
	walk(true, 1024);
	assert_end(0, STACK_BROKEN, BROKEN_UNMAPPED);
	assert_unfinished(true, false);
	/* A little farther down: somebody may have called. */
	again();
	ctx.regs.sp = mm.start_stack - 72;
	walk(true, 1024);
	assert_end(0, STACK_BROKEN, BROKEN_UNMAPPED);
	assert_unfinished(true, false);
	/* Or a frame is there. */
	again();
	ctx.regs.sp = mm.start_stack - 16;
	ctx.regs.bp = mm.start_stack - 16;
	walk(true, 1024);
	assert_end(0, STACK_BROKEN, BROKEN_UNMAPPED);
}

/* A return address in no mapping: profd gets the frame before, which led there. */
static void test_bad_return_address(void **state)
{
	(void)state;
	build_chain(4, 0);
	stack.wide[3 + 2 * 4] = 0;
	walk(true, 1024);
	assert_end(3, STACK_BROKEN, BROKEN_FRAME_POINTER);
	assert_unfinished(false, false);
	again();
	stack.wide[3 + 2 * 4] = 0x30000000;
	walk(true, 1024);
	assert_end(3, STACK_BROKEN, BROKEN_FRAME_POINTER);
	assert_unfinished(true, true);
	assert_int_equal(scratch.unwind.r.pc, 0x500100);
	assert_int_equal(scratch.unwind.r.fp, STACK_BASE + 16 + 2 * 32);
	/* By a rule it is where the stack says: the mapping must be new. */
	again();
	ctx.regs.ip = image_address(AT_PUSH);
	stack.wide[0] = 0x30000000;
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_UNMAPPED);
	assert_unfinished(true, false);
	assert_int_equal(scratch.unwind.r.pc, 0x30000000);
	assert_int_equal(scratch.unwind.r.sp, STACK_BASE + 8);
}

static void test_rule_endings(void **state)
{
	static const struct {
		__u32 offset;
		__u64 above; /* what is at sp */
		int quality, reason;
	} cases[] = {
		{AT_ODD, 0, STACK_BROKEN, BROKEN_RULE},
		{AT_PUSH, 5, STACK_BROKEN, BROKEN_RULE}, /* no return address */
		{AT_FRAME, 0, STACK_BROKEN, BROKEN_FRAME_POINTER},
		{AT_ROOT, 0, STACK_COMPLETE, 0},
	};

	(void)state;
	ctx.regs.bp = STACK_BASE - 64;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		again();
		ctx.regs.ip = image_address(cases[i].offset);
		stack.wide[0] = cases[i].above;
		walk(true, 1024);
		assert_end(1, cases[i].quality, cases[i].reason);
		assert_unfinished(false, false);
	}
}

/* A handler on its own stack, and what it interrupted. */
static void check_signal(__u64 restorer)
{
	const unsigned frame = 512; /* word */
	const __u64 at = STACK_BASE + 8 * frame;

	ctx.regs.ip = image_address(AT_PUSH);
	ctx.regs.sp = at - 8;
	stack.wide[frame - 1] = restorer;
	stack.wide[frame + UNWIND_SIGNAL_PC / 8] = image_address(AT_BODY);
	stack.wide[frame + UNWIND_SIGNAL_SP / 8] = STACK_BASE + 256; /* below */
	stack.wide[32 + 3] = image_address(AT_ROOT + 1);
	walk(true, 1024);
	assert_end(4, STACK_COMPLETE, 0);
	/* It was stopped at this very instruction: not one before. */
	assert_int_equal(scratch.body[4], in_image(AT_BODY));
	assert_int_equal(scratch.body[5], in_image(AT_ROOT));
}

static void test_signals(void **state)
{
	static const __u8 restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

	(void)state;
	check_signal(image_address(AT_SIGNAL + 1));
	/* A restorer without a rule is known by its code. */
	again();
	memcpy(code + 16, restorer, sizeof(restorer));
	check_signal(CODE_BASE + 16);
	/* As the leaf: at its first instruction, at its second, and in no other place. */
	for (unsigned i = 0; i < sizeof(restorer); i++) {
		again();
		ctx.regs.ip = CODE_BASE + 16 + i;
		ctx.regs.sp = STACK_BASE + 8 * 512;
		walk(true, 1024);
		if (i == 0 || i == 7)
			assert_end(3, STACK_COMPLETE, 0);
		else
			assert_end(1, STACK_BROKEN, BROKEN_FRAME_POINTER);
		assert_int_equal(scratch.body[2], CODE_BASE + 16 + i);
	}
	again();
	check_signal(CODE_BASE + 16);
	again();
	code[24] = 0x04;
	walk(true, 1024);
	assert_end(2, STACK_BROKEN, BROKEN_FRAME_POINTER);
}

/* Restorers without a rule end as rules do, and are no end even where a chain calls them one. */
static void test_ends_at_a_restorer(void **state)
{
	static const __u8 restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
	const __u64 end = STACK_BASE + STACK_BYTES, context = STACK_BASE + 512;

	(void)state;
	memcpy(code + 16, restorer, sizeof(restorer));
	/* A handler with a frame, whose frame pointer was zero. */
	ctx.regs.sp = context - 32;
	ctx.regs.bp = context - 16;
	stack.wide[62] = 0;
	stack.wide[63] = CODE_BASE + 16;
	stack.wide[64 + UNWIND_SIGNAL_PC / 8] = image_address(AT_ROOT);
	stack.wide[64 + UNWIND_SIGNAL_SP / 8] = STACK_BASE;
	walk(true, 1024);
	assert_end(3, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[3], CODE_BASE + 16);
	assert_int_equal(scratch.body[4], in_image(AT_ROOT));
	/* Nobody has its registers: profd may. */
	again();
	mm.start_stack = 0;
	ctx.regs.ip = CODE_BASE + 16;
	ctx.regs.sp = end;
	ctx.regs.bp = 1;
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_UNREADABLE);
	assert_unfinished(true, true);
	/* What is there cannot be registers. */
	again();
	ctx.regs.sp = context;
	stack.wide[64 + UNWIND_SIGNAL_PC / 8] = UINT64_MAX;
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_RULE);
	assert_unfinished(false, false);
}

/* That a saved frame pointer was zero goes along to profd. */
static void test_the_last_one_without_a_table(void **state)
{
	(void)state;
	build_chain(2, 0);
	stack.wide[3 + 4] = image_address(AT_NOTHING + 1);
	maps.slots[3].state = TABLE_ABSENT;
	walk(true, 1024);
	assert_end(3, STACK_BROKEN, BROKEN_NO_TABLE);
	assert_unfinished(true, true);
	assert_int_equal(scratch.unwind.r.is_last, 1);
	/* Where profd has to begin with the frame before, that one is not the last. */
	again();
	stack.wide[3 + 4] = 0x30000000;
	walk(true, 1024);
	assert_end(2, STACK_BROKEN, BROKEN_FRAME_POINTER);
	assert_unfinished(true, true);
	assert_int_equal(scratch.unwind.r.is_last, 0);
}

/* A 32-bit program: frames of two words of four bytes, whatever tables there are. */
static void test_compat(void **state)
{
	(void)state;
	ctx.regs =
		(struct context_registers){.ip = 0x8049000, .sp = 0x1000, .bp = 0x1004, .cs = 0x23};
	maps.mappings[0].image = 4;
	maps.mappings[0].slot = 3;
	for (unsigned i = 0; i < 3; i++) {
		stack.narrow[1 + i * 3] = i == 2 ? 0 : 0x1004 + (i + 1) * 12;
		stack.narrow[2 + i * 3] = 0x8050000 + i;
	}
	mm.start_code = 0x8050002 - 1; /* the last one's call */
	mm.end_code = 0x8050002;
	walk(true, 1024);
	assert_end(4, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[5], ABI_FRAME_IMAGE(4, 0x8050001 - PLAIN_START));
	/* The end of the chain, in no code of the program itself. */
	for (unsigned i = 0; i < 2; i++) {
		again();
		mm.start_code = i ? 0x8050002 : 0x8040000;
		mm.end_code = i ? 0x8060000 : 0x8050001;
		walk(true, 1024);
		assert_end(4, STACK_BROKEN, BROKEN_UNKNOWN);
		assert_unfinished(false, false);
	}
}

/* Any process can have any registers, and what it says must not be a frame of another kind. */
static void test_no_user_address(void **state)
{
	static const __u64 pcs[] = {ABI_FRAME_IMAGE(5, 0x1235), 0xffffffff81000000, 0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		ctx.regs.ip = pcs[i];
		ctx.regs.sp = STACK_BASE + STACK_BYTES; /* of no caller's */
		walk(true, 1024);
		assert_end(0, STACK_BROKEN, BROKEN_UNMAPPED);
		assert_unfinished(false, false);
	}
	/* What a call of the vsyscall page is said to return to, where nothing is known at all. */
	scratch.record.pid = PID + 1;
	mm.start_stack = STACK_BASE + 8;
	for (unsigned i = 0; i < 3; i++) {
		ctx.regs.ip = 0xffffffffff600000;
		ctx.regs.sp = STACK_BASE;
		ctx.regs.bp = 0;
		stack.wide[0] = pcs[i];
		walk(true, 1024);
		assert_end(0, STACK_BROKEN, BROKEN_UNMAPPED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_broken_pointers, setup),
		cmocka_unit_test_setup(test_first_pointer, setup),
		cmocka_unit_test_setup(test_start, setup),
		cmocka_unit_test_setup(test_bad_return_address, setup),
		cmocka_unit_test_setup(test_rule_endings, setup),
		cmocka_unit_test_setup(test_signals, setup),
		cmocka_unit_test_setup(test_ends_at_a_restorer, setup),
		cmocka_unit_test_setup(test_the_last_one_without_a_table, setup),
		cmocka_unit_test_setup(test_compat, setup),
		cmocka_unit_test_setup(test_no_user_address, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
