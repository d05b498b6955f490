/* SPDX-License-Identifier: MIT */
/* The user walk of the BPF programs, from frame to frame. */
#include "tests/unit/ingest/unwind_fixture.h"

static void test_frame_pointers(void **state)
{
	(void)state;
	build_chain(5, 0);
	walk(true, 1024);
	assert_end(6, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[2], 0x401000);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(scratch.body[3 + i], 0x500000 + i * 0x100 - 1);
	assert_int_equal(scratch.unwind.view.root.until_ns, 500);
}

static void test_depth(void **state)
{
	(void)state;
	build_chain(1500, 0);
	walk(true, 10);
	assert_end(10, STACK_TRUNCATED, TRUNCATED_DEPTH);
	assert_unfinished(false, false);
	again();
	walk(true, 1024);
	assert_end(1024, STACK_TRUNCATED, TRUNCATED_DEPTH);
	/* Just as many as there are: not truncated. */
	again();
	build_chain(9, 0);
	walk(true, 10);
	assert_end(10, STACK_COMPLETE, 0);
	again();
	build_chain(1023, 0);
	walk(true, 1024);
	assert_end(1024, STACK_COMPLETE, 0);
}

static void test_full_record(void **state)
{
	(void)state;
	build_chain(1500, 0);
	unwind_user(&scratch, &task, &ctx.regs, true, ABI_FRAMES_MAX - 3, 1024);
	assert_int_equal(scratch.unwind.n, 3);
	assert_int_equal(scratch.unwind.quality, STACK_TRUNCATED);
}

static void test_unreadable(void **state)
{
	(void)state;
	build_chain(4, STACK_BASE + STACK_BYTES + 4096);
	walk(true, 1024);
	assert_end(5, STACK_BROKEN, BROKEN_UNREADABLE);
	assert_unfinished(true, true);
	assert_int_equal(scratch.unwind.r.fp, STACK_BASE + STACK_BYTES + 4096);
	assert_int_equal(scratch.unwind.r.pc, 0x500300);
	/* By a rule. */
	again();
	ctx.regs.ip = image_address(AT_BODY);
	ctx.regs.sp = STACK_BASE + STACK_BYTES;
	mm.start_stack = 0;
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_UNREADABLE);
	assert_unfinished(true, true);
}

static void test_rules(void **state)
{
	(void)state;
	ctx.regs.ip = image_address(AT_PUSH + 5);
	ctx.regs.bp = 12345;                        /* nobody needs it */
	stack.wide[0] = image_address(AT_BODY + 9); /* sp + 8: the caller's frame of 32 bytes */
	stack.wide[4] = image_address(AT_BODY);     /* a call that ends the range before */
	stack.wide[5] = image_address(AT_ROOT + 1);
	for (unsigned i = 0; i < 2; i++) { /* again, by the cache */
		again();
		maps.slots[3].used_s = 0;
		walk(true, 1024);
		assert_end(4, STACK_COMPLETE, 0);
		assert_int_equal(scratch.body[2], in_image(AT_PUSH + 5));
		assert_int_equal(scratch.body[3], in_image(AT_BODY + 8));
		assert_int_equal(scratch.body[4], in_image(AT_BODY - 1));
		assert_int_equal(scratch.body[5], in_image(AT_ROOT));
		assert_int_equal(maps.slots[3].used_s, 5);
	}
	/* The cache knows the rules even when the table is gone; for others it is needed. */
	again();
	maps.slots[3].state = TABLE_ABSENT;
	walk(true, 1024);
	assert_end(4, STACK_COMPLETE, 0);
	again();
	stack.wide[5] = image_address(AT_ROOT + 2);
	walk(true, 1024);
	assert_end(4, STACK_BROKEN, BROKEN_NO_TABLE);
	assert_unfinished(true, true);
	assert_int_equal(scratch.unwind.r.pc, image_address(AT_ROOT + 2));
}

/* Where a table has no rule, or there is no table, frame pointers do; and back to rules. */
static void test_mixed(void **state)
{
	(void)state;
	ctx.regs.ip = image_address(AT_NOTHING);
	ctx.regs.bp = STACK_BASE + 16;
	stack.wide[2] = STACK_BASE + 64;
	stack.wide[3] = image_address(AT_FRAME + 1); /* sp = STACK_BASE + 32 */
	stack.wide[8] = 0;                           /* the caller's frame pointer */
	stack.wide[9] = 0x401000;                    /* sp = STACK_BASE + 80 */
	walk(true, 1024);
	/* Zero, restored by a rule, is just a number. */
	assert_end(3, STACK_BROKEN, BROKEN_FRAME_POINTER);
	assert_int_equal(scratch.body[3], in_image(AT_FRAME));
	assert_int_equal(scratch.body[4], 0x400fff);
	/* Saved in a frame of the chain it says that the caller is the last, unless a rule knows.
	 */
	again();
	stack.wide[2] = 0;
	stack.wide[3] = 0x401000;
	walk(true, 1024);
	assert_end(2, STACK_GUESSED, 0);
	again();
	stack.wide[3] = image_address(AT_PUSH + 1);
	stack.wide[4] = image_address(AT_ROOT + 1);
	walk(true, 1024);
	assert_end(3, STACK_GUESSED, 0);
	assert_int_equal(scratch.body[4], in_image(AT_ROOT));
}

static void test_table_states(void **state)
{
	(void)state;
	ctx.regs.ip = image_address(AT_BODY);
	build_chain(2, 0);
	maps.slots[3].state = TABLE_NO_CFI;
	walk(true, 1024);
	assert_end(3, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[2], in_image(AT_BODY));
	again();
	maps.slots[3].state = TABLE_REFUSED;
	walk(true, 1024);
	assert_end(3, STACK_COMPLETE, 0);
	again();
	ctx.regs.bp = 3;
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_NO_TABLE);
	assert_unfinished(false, false);
	again();
	maps.slots[3].state = TABLE_ABSENT;
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_NO_TABLE);
	assert_unfinished(true, true);
	/* Code past what an offset can say has no table, and is an address. */
	again();
	maps.mappings[1].offset = 1ull << 32;
	ctx.regs.bp = STACK_BASE + 16;
	walk(true, 1024);
	assert_end(3, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[2], image_address(AT_BODY));
}

static void test_system_call(void **state)
{
	(void)state;
	build_chain(2, 0);
	entry_regs.orig_ax = 0; /* read(2) */
	entry_regs.cx = 0x402000;
	walk(false, 1024);
	assert_end(3, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[2], 0x402000 - 1);
	/* Still in the call, but a signal is on its way: ip is its handler. */
	again();
	entry_regs.cx = 0x401234;
	walk(false, 1024);
	assert_int_equal(scratch.body[2], 0x402000);
	again();
	entry_regs.cx = 0x402000;
	entry_regs.orig_ax = -1ul; /* a fault */
	walk(false, 1024);
	assert_int_equal(scratch.body[2], 0x402000);
	/* A program that was just executed comes out of execve(2) at its very first byte. */
	again();
	entry_regs.orig_ax = 59;
	entry_regs.bp = 0;
	entry_regs.sp = mm.start_stack;
	walk(false, 1024);
	assert_end(1, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[2], 0x402000);
}

static void test_no_user(void **state)
{
	(void)state;
	task.flags = PF_EXITING;
	walk(false, 1024);
	assert_end(0, STACK_NO_USER, 0);
	task.flags = 0;
	task.mm = NULL;
	walk(false, 1024);
	assert_end(0, STACK_NO_USER, 0);
	task.mm = &mm;
	task.in_execve = 1;
	walk(false, 1024);
	assert_end(0, STACK_NO_USER, 0);
	task.in_execve = 0;
	task.flags = PF_KTHREAD;
	walk(false, 1024);
	assert_end(0, STACK_COMPLETE, 0);
	task.flags = 0;
	entry_regs = (struct pt_regs){0}; /* a worker that the kernel made in the process */
	walk(false, 1024);
	assert_end(0, STACK_COMPLETE, 0);
	assert_unfinished(false, false);
}

static void test_vsyscall(void **state)
{
	(void)state;
	ctx.regs.ip = 0xffffffffff600000;
	stack.wide[0] = image_address(AT_ROOT + 1);
	walk(true, 1024);
	assert_end(1, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[2], in_image(AT_ROOT));
}

/* Nothing is read that is not asked for; of what cannot be read, little is tried. */
static void test_faults(void **state)
{
	const __u64 frame = STACK_BASE - 120; /* its ucontext begins below the stack */

	(void)state;
	/* The first and the last words of a stack. */
	ctx.regs.ip = image_address(AT_PUSH);
	stack.wide[0] = image_address(AT_ROOT + 1);
	walk(true, 1024);
	assert_end(2, STACK_COMPLETE, 0);
	again();
	ctx.regs.sp = STACK_BASE + STACK_BYTES - 8;
	stack.wide[STACK_BYTES / 8 - 1] = image_address(AT_ROOT + 1);
	walk(true, 1024);
	assert_end(2, STACK_COMPLETE, 0);
	assert_int_equal(n_faults, 0);
	/* Signal frames without end, each with registers that cannot be read. */
	again();
	ctx.regs.ip = image_address(AT_SIGNAL);
	ctx.regs.sp = frame;
	stack.wide[(UNWIND_SIGNAL_PC - UNWIND_SIGNAL_FP) / 8] = image_address(AT_SIGNAL);
	stack.wide[(UNWIND_SIGNAL_SP - UNWIND_SIGNAL_FP) / 8] = frame;
	walk(true, 1024);
	assert_int_equal(scratch.unwind.quality, STACK_BROKEN);
	assert_int_equal(scratch.unwind.reason, BROKEN_UNREADABLE);
	assert_int_equal(n_faults, UNWIND_FAULTS_MAX);
	/* Code that is not there ends no walk. */
	again();
	n_faults = 0;
	ctx.regs.ip = 0x401000;
	ctx.regs.sp = STACK_BASE;
	build_chain(200, 0);
	walk(true, 1024);
	assert_end(201, STACK_COMPLETE, 0);
	assert_int_equal(n_faults, UNWIND_FAULTS_MAX);
}

static void test_no_root(void **state)
{
	(void)state;
	build_chain(4, 0);
	scratch.record.pid = PID + 1;
	walk(true, 1024);
	assert_end(0, STACK_BROKEN, BROKEN_UNMAPPED);
	assert_unfinished(true, false);
	assert_int_equal(scratch.unwind.r.pc, 0x401000);
	assert_int_equal(scratch.unwind.has_root, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_frame_pointers, setup),
		cmocka_unit_test_setup(test_depth, setup),
		cmocka_unit_test_setup(test_full_record, setup),
		cmocka_unit_test_setup(test_unreadable, setup),
		cmocka_unit_test_setup(test_rules, setup),
		cmocka_unit_test_setup(test_mixed, setup),
		cmocka_unit_test_setup(test_table_states, setup),
		cmocka_unit_test_setup(test_system_call, setup),
		cmocka_unit_test_setup(test_no_user, setup),
		cmocka_unit_test_setup(test_vsyscall, setup),
		cmocka_unit_test_setup(test_faults, setup),
		cmocka_unit_test_setup(test_no_root, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
