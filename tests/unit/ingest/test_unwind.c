/* SPDX-License-Identifier: MIT */
/* The user walk of the BPF programs, bpf/unwind.bpf.h, built as an ordinary program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ingest/bpf_stubs.h"

#define PID 77u

/* Code without an image, all over the address space below the stack: frame pointers. */
#define PLAIN_START 0x1000ull
#define PLAIN_END   0x20000000ull
/* Code with one. Its table says, by offset in the file: */
#define IMAGE        9u
#define IMAGE_START  0x20000000ull
#define IMAGE_OFFSET 0x4000u
#define AT_PUSH      0x4000u /* nothing pushed yet: CFA = sp + 8 */
#define AT_BODY      0x4100u /* CFA = sp + 32 */
#define AT_ROOT      0x4200u
#define AT_ODD       0x4300u
#define AT_SIGNAL    0x4400u
#define AT_NOTHING   0x4500u
#define AT_FRAME     0x4600u /* CFA = fp + 16, fp saved */
#define AT_END       0x5000u

static struct mm_struct mm;
static struct task_struct task;
static struct bpf_perf_event_data ctx;

static __u64 image_address(__u32 offset)
{
	return IMAGE_START + offset - IMAGE_OFFSET;
}

/* One row a rule, each beginning a chunk of its own or in the middle of one. */
static void put_table(struct table_slot *slot, __u32 first)
{
	static const __u32 offsets[] = {AT_PUSH,   AT_BODY,    AT_ROOT,  AT_ODD,
					AT_SIGNAL, AT_NOTHING, AT_FRAME, AT_END};
	const struct rule push = {.kind = RULE_CFA, .cfa_offset = 8, .ra_offset = -8};
	const struct rule body = {.kind = RULE_CFA, .cfa_offset = 32, .ra_offset = -8};
	const struct rule frame = {.kind = RULE_CFA,
				   .base = RULE_BASE_FP,
				   .cfa_offset = 16,
				   .fp_kind = RULE_FP_AT_CFA,
				   .fp_offset = -16,
				   .ra_offset = -8};
	const __u64 rules[] = {rule_pack(&push),    rule_pack(&body),       RULE_WORD(RULE_ROOT),
			       RULE_WORD(RULE_ODD), RULE_WORD(RULE_SIGNAL), RULE_WORD(RULE_UNKNOWN),
			       rule_pack(&frame),   RULE_WORD(RULE_UNKNOWN)};
	const __u32 n_chunks = (AT_END >> TABLE_CHUNK_BITS) - (AT_PUSH >> TABLE_CHUNK_BITS) + 1;
	__u32 *chunks = (__u32 *)&maps.words[first + 8];
	__u32 *rows = (__u32 *)&maps.words[first + 8 + (n_chunks + 2) / 2];
	__u32 row = 0;

	memcpy(&maps.words[first], rules, sizeof(rules));
	for (__u32 chunk = 0; chunk < n_chunks; chunk++) {
		chunks[chunk] = row;
		while (row < 8 && (offsets[row] - AT_PUSH) >> TABLE_CHUNK_BITS == chunk) {
			rows[row] = row << TABLE_CHUNK_BITS | (offsets[row] & (TABLE_CHUNK - 1));
			row++;
		}
	}
	chunks[n_chunks] = row;
	*slot = (struct table_slot){.state = TABLE_LOADED,
				    .version = 1,
				    .first = first,
				    .n_rules = 8,
				    .n_chunks = n_chunks,
				    .first_chunk = AT_PUSH >> TABLE_CHUNK_BITS,
				    .n_rows = 8};
}

static int setup(void **state)
{
	(void)state;
	stubs_reset();
	maps.mappings[0] =
		(struct unwind_mapping){.start = PLAIN_START, .end = PLAIN_END, .slot = SLOT_NONE};
	maps.mappings[1] = (struct unwind_mapping){.start = IMAGE_START,
						   .end = image_address(AT_END),
						   .offset = IMAGE_OFFSET,
						   .image = IMAGE,
						   .slot = 3};
	put_table(&maps.slots[3], 100);
	publish(PID, 2, 500);
	mm = (struct mm_struct){.start_stack = STACK_BASE + STACK_BYTES};
	task = (struct task_struct){.mm = &mm, .pid = PID, .tgid = PID};
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
	scratch.unwind.now_s = 5;
	unwind_user(&scratch, &task, &ctx, user, 2, max);
}

static void assert_end(__u32 n, int quality, int reason)
{
	assert_int_equal(scratch.unwind.n, n);
	assert_int_equal(scratch.unwind.quality, quality);
	assert_int_equal(scratch.unwind.reason, reason);
	assert_int_equal(scratch.body[1], UINT64_MAX); /* the kernel's part is not touched */
	assert_int_equal(scratch.body[2 + n], UINT64_MAX);
}

static void assert_unfinished(bool unfinished, bool pushed)
{
	assert_int_equal(scratch.unwind.unfinished, unfinished);
	if (unfinished)
		assert_int_equal(scratch.unwind.pushed, pushed);
}

static void again(void)
{
	memset(scratch.body, 0xff, sizeof(scratch.body));
}

static void test_frame_pointers(void **state)
{
	(void)state;
	build_chain(5, 0);
	walk(true, 1024);
	assert_end(6, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[2], 0x401000);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(scratch.body[3 + i], 0x500000 + i * 0x100 - 1);
	assert_int_equal(scratch.unwind.root.until_ns, 500);
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
	unwind_user(&scratch, &task, &ctx, true, ABI_FRAMES_MAX - 3, 1024);
	assert_int_equal(scratch.unwind.n, 3);
	assert_int_equal(scratch.unwind.quality, STACK_TRUNCATED);
}

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

static __u64 in_image(__u32 offset)
{
	return ABI_FRAME_IMAGE(IMAGE, offset);
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
	assert_end(2, STACK_COMPLETE, 0);
	again();
	stack.wide[3] = image_address(AT_PUSH + 1);
	stack.wide[4] = image_address(AT_ROOT + 1);
	walk(true, 1024);
	assert_end(3, STACK_COMPLETE, 0);
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

static void test_vsyscall(void **state)
{
	(void)state;
	ctx.regs.ip = 0xffffffffff600000;
	stack.wide[0] = image_address(AT_ROOT + 1);
	walk(true, 1024);
	assert_end(1, STACK_COMPLETE, 0);
	assert_int_equal(scratch.body[2], in_image(AT_ROOT));
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
	task.tgid = PID + 1;
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
	task.tgid = PID + 1;
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
		cmocka_unit_test_setup(test_broken_pointers, setup),
		cmocka_unit_test_setup(test_first_pointer, setup),
		cmocka_unit_test_setup(test_start, setup),
		cmocka_unit_test_setup(test_unreadable, setup),
		cmocka_unit_test_setup(test_bad_return_address, setup),
		cmocka_unit_test_setup(test_rules, setup),
		cmocka_unit_test_setup(test_rule_endings, setup),
		cmocka_unit_test_setup(test_mixed, setup),
		cmocka_unit_test_setup(test_table_states, setup),
		cmocka_unit_test_setup(test_signals, setup),
		cmocka_unit_test_setup(test_system_call, setup),
		cmocka_unit_test_setup(test_no_user, setup),
		cmocka_unit_test_setup(test_compat, setup),
		cmocka_unit_test_setup(test_vsyscall, setup),
		cmocka_unit_test_setup(test_no_user_address, setup),
		cmocka_unit_test_setup(test_faults, setup),
		cmocka_unit_test_setup(test_no_root, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
