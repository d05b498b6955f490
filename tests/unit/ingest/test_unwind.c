/* SPDX-License-Identifier: MIT */
/*
 * bpf/unwind.bpf.h built as an ordinary program: the helpers are functions below, user memory is
 * one array, the task is a struct of ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define __TARGET_ARCH_x86     1
#define preserve_access_index unused /* CO-RE: the structs here are the ones that are read */

#include "bpf/kernel_types.h"

#define bpf_core_field_exists(field)               1
#define BPF_CORE_READ_BITFIELD_PROBED(task, field) ((task)->field)

static long bpf_probe_read_user(void *to, __u32 length, const void *from);
static long bpf_task_pt_regs(struct task_struct *task);
struct unwind_context;
static long bpf_loop(__u32 n, long (*step)(__u32, struct unwind_context *),
		     struct unwind_context *context, __u64 flags);

#include "bpf/unwind.bpf.h"

#define STACK_BASE  0x7ffd00000000ull
#define STACK_BYTES 65536ull

static union {
	__u64 wide[STACK_BYTES / 8];
	__u32 narrow[STACK_BYTES / 4];
	__u8 bytes[STACK_BYTES];
} stack;

static struct pt_regs entry_regs;

static long bpf_probe_read_user(void *to, __u32 length, const void *from)
{
	__u64 base = (uintptr_t)from >> 32 ? STACK_BASE : 0x1000;
	__u64 at = (uintptr_t)from - base;

	if ((uintptr_t)from < base || at + length > STACK_BYTES)
		return -14;
	memcpy(to, stack.bytes + at, length);
	return 0;
}

static long bpf_task_pt_regs(struct task_struct *task)
{
	(void)task;
	return (long)&entry_regs;
}

static long bpf_loop(__u32 n, long (*step)(__u32, struct unwind_context *),
		     struct unwind_context *context, __u64 flags)
{
	__u32 i;

	(void)flags;
	for (i = 0; i < n; i++)
		if (step(i, context))
			return i + 1;
	return i;
}

static struct mm_struct mm;
static struct task_struct task;
static struct bpf_perf_event_data ctx;
static struct scratch scratch;

static int setup(void **state)
{
	(void)state;
	memset(&stack, 0, sizeof(stack));
	memset(&scratch, 0xff, sizeof(scratch));
	mm = (struct mm_struct){.start_stack = STACK_BASE + STACK_BYTES};
	task = (struct task_struct){.mm = &mm, .pid = 1, .tgid = 1};
	ctx = (struct bpf_perf_event_data){
		.regs = {.ip = 0x401000, .sp = STACK_BASE, .bp = STACK_BASE + 16, .cs = 0x33}};
	entry_regs = (struct pt_regs){
		.ip = 0x402000, .sp = STACK_BASE, .bp = STACK_BASE + 16, .cs = 0x33};
	return 0;
}

/* @n frames of 32 bytes, from STACK_BASE + 16; the last one's saved frame pointer is @last. */
static void build_chain(unsigned n, __u64 last)
{
	for (unsigned i = 0; i < n; i++) {
		stack.wide[2 + i * 4] = i == n - 1 ? last : STACK_BASE + 16 + (i + 1) * 32;
		stack.wide[3 + i * 4] = 0x500000 + i * 0x100;
	}
}

static void walk(bool user, __u32 max)
{
	unwind_user(&scratch, &task, &ctx, user, 2, max);
}

static void assert_end(__u32 n, int quality, int reason)
{
	assert_int_equal(scratch.unwind.n, n);
	assert_int_equal(scratch.unwind.quality, quality);
	assert_int_equal(scratch.unwind.reason, reason);
	assert_int_equal(scratch.frames[1], UINT64_MAX); /* the kernel's part is not touched */
	assert_int_equal(scratch.frames[2 + n], UINT64_MAX);
}

static void test_complete(void **state)
{
	(void)state;
	build_chain(5, 0);
	walk(true, 1024);
	assert_end(6, STACK_COMPLETE, 0);
	assert_int_equal(scratch.frames[2], 0x401000);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(scratch.frames[3 + i], 0x500000 + i * 0x100 - 1);
}

static void test_depth(void **state)
{
	(void)state;
	build_chain(1500, 0);
	walk(true, 10);
	assert_end(10, STACK_TRUNCATED, TRUNCATED_DEPTH);
	memset(&scratch, 0xff, sizeof(scratch));
	walk(true, 1024);
	assert_end(1024, STACK_TRUNCATED, TRUNCATED_DEPTH);
	/* Just as many as there are: not truncated. */
	memset(&scratch, 0xff, sizeof(scratch));
	build_chain(9, 0);
	walk(true, 10);
	assert_end(10, STACK_COMPLETE, 0);
}

static void test_full_record(void **state)
{
	(void)state;
	build_chain(1500, 0);
	unwind_user(&scratch, &task, &ctx, true, ABI_FRAMES_MAX - 3, 1024);
	assert_int_equal(scratch.unwind.n, 3);
	assert_int_equal(scratch.unwind.quality, STACK_TRUNCATED);
}

static void test_broken_pointers(void **state)
{
	static const __u64 lasts[] = {
		1,                        /* argc, in programs on a C library without them */
		STACK_BASE + 16 + 3 * 32, /* the frame's own address: not rising */
		STACK_BASE,
		STACK_BASE + 5000 + 4, /* not a multiple of eight */
		0x7765737265666572,    /* not an address */
		0xffffffff81000000,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++) {
		memset(&scratch, 0xff, sizeof(scratch));
		build_chain(4, lasts[i]);
		walk(true, 1024);
		assert_end(5, STACK_BROKEN, BROKEN_FRAME_POINTER);
	}
}

static void test_first_pointer(void **state)
{
	(void)state;
	build_chain(4, 0);
	ctx.regs.bp = STACK_BASE - 8; /* below the stack pointer */
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_FRAME_POINTER);
	memset(&scratch, 0xff, sizeof(scratch));
	ctx.regs.bp = 0; /* just a number, in the middle of the program */
	walk(true, 1024);
	assert_end(1, STACK_BROKEN, BROKEN_FRAME_POINTER);
	memset(&scratch, 0xff, sizeof(scratch));
	ctx.regs.sp = mm.start_stack - 16; /* but the root in its first instructions */
	walk(true, 1024);
	assert_end(1, STACK_COMPLETE, 0);
}

static void test_unreadable(void **state)
{
	(void)state;
	build_chain(4, STACK_BASE + STACK_BYTES + 4096);
	walk(true, 1024);
	assert_end(5, STACK_BROKEN, BROKEN_UNREADABLE);
}

static void test_bad_return_address(void **state)
{
	(void)state;
	build_chain(4, 0);
	stack.wide[3 + 2 * 4] = 0;
	walk(true, 1024);
	assert_end(3, STACK_BROKEN, BROKEN_FRAME_POINTER);
}

static void test_system_call(void **state)
{
	(void)state;
	build_chain(2, 0);
	entry_regs.orig_ax = 0; /* read(2) */
	walk(false, 1024);
	assert_end(3, STACK_COMPLETE, 0);
	assert_int_equal(scratch.frames[2], 0x402000 - 1);
	memset(&scratch, 0xff, sizeof(scratch));
	entry_regs.orig_ax = -1ul; /* a fault */
	walk(false, 1024);
	assert_int_equal(scratch.frames[2], 0x402000);
	/* A program that was just executed comes out of execve(2) at its very first byte. */
	memset(&scratch, 0xff, sizeof(scratch));
	entry_regs.orig_ax = 59;
	entry_regs.bp = 0;
	entry_regs.sp = mm.start_stack;
	walk(false, 1024);
	assert_end(1, STACK_COMPLETE, 0);
	assert_int_equal(scratch.frames[2], 0x402000);
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
}

/* A 32-bit program: frames of two words of four bytes. */
static void test_compat(void **state)
{
	(void)state;
	ctx.regs =
		(struct context_registers){.ip = 0x8049000, .sp = 0x1000, .bp = 0x1004, .cs = 0x23};
	for (unsigned i = 0; i < 3; i++) {
		stack.narrow[1 + i * 3] = i == 2 ? 0 : 0x1004 + (i + 1) * 12;
		stack.narrow[2 + i * 3] = 0x8050000 + i;
	}
	walk(true, 1024);
	assert_end(4, STACK_COMPLETE, 0);
	assert_int_equal(scratch.frames[5], 0x8050001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_complete, setup),
		cmocka_unit_test_setup(test_depth, setup),
		cmocka_unit_test_setup(test_full_record, setup),
		cmocka_unit_test_setup(test_broken_pointers, setup),
		cmocka_unit_test_setup(test_first_pointer, setup),
		cmocka_unit_test_setup(test_unreadable, setup),
		cmocka_unit_test_setup(test_bad_return_address, setup),
		cmocka_unit_test_setup(test_system_call, setup),
		cmocka_unit_test_setup(test_no_user, setup),
		cmocka_unit_test_setup(test_compat, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
