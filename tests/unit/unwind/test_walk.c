/* SPDX-License-Identifier: MIT */
/* Walks over stacks made by hand: every way to go on, and every way to end. */
#include "tests/unit/unwind/walk_fixture.h"

/* Through code that a table leaves out, by a frame pointer that nothing confirms. */
#if defined(UNWIND_X86_64)
#define BY_POINTER STACK_GUESSED
#else
#define BY_POINTER STACK_COMPLETE
#endif

/* By rule, by rule with a frame pointer, root. */
static void test_to_the_root(void **state)
{
	struct world *w = *state;

	begin(w, TABLE + BY_SP, BASE, BASE + 16);
	put(w, BASE + 8, TABLE + BY_FP + 5);
	put(w, BASE + 16, 0);
	put(w, BASE + 24, TABLE + ROOT + 9);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_SP), IN_TABLE(BY_FP + 4), IN_TABLE(ROOT + 8));
	assert_int_equal(w->slots[SLOT_TABLE].used_s, NOW_S);
	assert_int_equal(w->slots[SLOT_NO_CFI].used_s, 0);
	assert_int_equal(w->slots[SLOT_ABSENT].used_s, 0);
}

/* On the stack, and of code: groups of an interpreter's frames. */
static void test_anchors(void **state)
{
	struct walk_anchor anchors[] = {
		{.address = BASE + 8, .at = WALK_UNPLACED},
		{.address = TABLE + BY_FP, .n_bytes = 6, .at = WALK_UNPLACED},
		{.address = TABLE, .n_bytes = 1, .at = WALK_UNPLACED},
	};
	struct world *w = *state;

	begin(w, TABLE + BY_SP, BASE, BASE + 16);
	w->walk.anchors = anchors;
	w->walk.n_anchors = 3;
	put(w, BASE + 8, TABLE + BY_FP + 6);
	put(w, BASE + 16, 0);
	put(w, BASE + 24, TABLE + ROOT + 9);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_SP), IN_TABLE(BY_FP + 5), IN_TABLE(ROOT + 8));
	assert_true(anchors[0].at == 0 && anchors[0].is_loop);
	assert_true(anchors[1].at == 1 && anchors[1].is_loop);
	assert_int_equal(anchors[2].at, WALK_UNPLACED);
	/* One byte behind it. */
	anchors[1].at = WALK_UNPLACED;
	anchors[1].n_bytes = 5;
	begin(w, TABLE + BY_SP, BASE, BASE + 16);
	w->walk.anchors = anchors;
	w->walk.n_anchors = 3;
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_SP), IN_TABLE(BY_FP + 5), IN_TABLE(ROOT + 8));
	assert_int_equal(anchors[1].at, WALK_UNPLACED);
}

/* A call that is its function's last instruction returns to what is another function's. */
static void test_callers_are_looked_up_before_their_address(void **state)
{
	struct world *w = *state;

	begin(w, TABLE + BY_SP, BASE, 0);
	put(w, BASE + 8, TABLE + BY_FP); /* called by the last byte of BY_SP */
	put(w, BASE + 24, TABLE + ROOT + 1);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_SP), IN_TABLE(BY_FP - 1), IN_TABLE(ROOT));
	/* The kernel's entry says so of the leaf. */
	begin(w, TABLE + BY_FP, BASE, 0);
	w->walk.registers.is_return = 1;
	put(w, BASE + 8, TABLE + ROOT + 1);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_FP - 1), IN_TABLE(ROOT));
}

static void test_frames_without_an_image_are_addresses(void **state)
{
	struct world *w = *state;

	begin(w, NONE + 3, BASE, BASE);
	put(w, BASE, BASE + 32);
	put(w, BASE + 8, NO_CFI + 10);
	put(w, BASE + 32, BASE + 64);
	put(w, BASE + 40, FAR + 0x101);
	put(w, BASE + 64, BASE + 96);
	put(w, BASE + 72, FAR + 0xff + 1);
	put(w, BASE + 96, 0);
	put(w, BASE + 104, TABLE + ROOT + 1);
	/* FAR's first 256 bytes are below 4 GiB; its table knows nothing of either. */
	ASSERT_ENDS(w, BY_POINTER, 0, NONE + 3, frame_in_image(2, 9), FAR + 0x100,
		    frame_in_image(5, UINT32_MAX), IN_TABLE(ROOT));
	/* What the low half of its offset would be is no rule of it. */
	begin(w, FAR + 0x100 + OFFSET + ROOT, BASE, 1);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, FAR + 0x100 + OFFSET + ROOT);
}

static void test_frame_pointers_to_the_last(void **state)
{
	struct world *w = *state;

	begin(w, NONE, BASE, BASE + 8);
	put(w, BASE + 8, BASE + 64);
	put(w, BASE + 16, TABLE + GAP + 1);
	put(w, BASE + 64, 0);
	put(w, BASE + 72, NO_CFI + 1);
	ASSERT_ENDS(w, BY_POINTER, 0, NONE, IN_TABLE(GAP), frame_in_image(2, 0));
}

/* The saved frame pointer is zero for another reason: a rule knows what comes above. */
static void test_a_rule_knows_better_than_a_zero(void **state)
{
	struct world *w = *state;

	begin(w, NONE, BASE, BASE + 8);
	put(w, BASE + 8, 0);
	put(w, BASE + 16, TABLE + BY_SP + 1);
	put(w, BASE + 32, NONE + 8);
	/* Above it, the zero in the register means nothing any more. */
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, NONE, IN_TABLE(BY_SP), NONE + 7);
	begin(w, NONE, BASE, BASE + 8);
	put(w, BASE + 32, TABLE + ROOT + 8);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, NONE, IN_TABLE(BY_SP), IN_TABLE(ROOT + 7));
}

static void test_frame_pointers_that_lead_nowhere(void **state)
{
	static const uint64_t pointers[] = {
		0, 8, BASE - 8, BASE + 12, UINT64_MAX - 7, TOP + (9 << 20)};
	struct world *w = *state;

	for (unsigned i = 0; i < 6; i++) {
		begin(w, NONE, BASE, pointers[i]);
		ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, NONE);
	}
	/* The return address is no code: it does not stay. */
	begin(w, NONE, BASE, BASE + 8);
	put(w, BASE + 8, BASE + 64);
	put(w, BASE + 16, NOWHERE);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, NONE);
	put(w, BASE + 16, 100);
	begin(w, NONE, BASE, BASE + 8);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, NONE);
	begin(w, NONE, BASE, BASE + 8);
	w->walk.registers.known = 0;
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, NONE);
}

static void test_addresses_of_no_mapping(void **state)
{
	struct world *w = *state;

	begin(w, NOWHERE, BASE, BASE);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_UNMAPPED, NOWHERE);
	begin(w, 0, BASE, BASE);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_UNMAPPED, 0);
	begin(w, TABLE + BY_SP, BASE, BASE);
	put(w, BASE + 8, NOWHERE + 1);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_UNMAPPED, IN_TABLE(BY_SP), NOWHERE);
}

static void test_rules_that_cannot_be_followed(void **state)
{
	struct world *w = *state;

	begin(w, TABLE + ODD, BASE, BASE);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_RULE, IN_TABLE(ODD));
	begin(w, TABLE + BY_FP, BASE, BASE + 64);
	w->walk.registers.known = 0;
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_RULE, IN_TABLE(BY_FP));
	begin(w, TABLE + BY_SP, BASE, BASE);
	put(w, BASE + 8, 17);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_RULE, IN_TABLE(BY_SP));
	begin(w, TABLE + BY_FP, BASE + 64, BASE);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(BY_FP));
}

static void test_a_refused_table(void **state)
{
	struct world *w = *state;

	begin(w, REFUSED + 4, BASE, BASE);
	put(w, BASE, BASE + 64);
	put(w, BASE + 8, TABLE + ROOT + 1);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, frame_in_image(3, 4), IN_TABLE(ROOT));
	begin(w, REFUSED + 4, BASE, 1);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_NO_TABLE, frame_in_image(3, 4));
	begin(w, REFUSED + 4, BASE, BASE);
	put(w, BASE + 8, NOWHERE);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_NO_TABLE, frame_in_image(3, 4));
}

/*
 * The frame of a signal: registers from another stack, and a pc that is exact. So is the restorer's
 * first byte, though its rule is found a byte below: that byte is nobody's call.
 */
static void test_through_a_signal(void **state)
{
	struct world *w = *state;
	uint64_t context = BASE + 4096;

	begin(w, TABLE + BY_SP, context - 16, 0);
	put(w, context - 8, TABLE + SIGNAL);
	put(w, context + UNWIND_SIGNAL_PC, TABLE + BY_FP); /* its very first byte */
	put(w, context + UNWIND_SIGNAL_SP, BASE);
	put(w, context + UNWIND_SIGNAL_FP, BASE + 8);
	put(w, BASE + 8, 0);
	put(w, BASE + 16, TABLE + ROOT + 1);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_SP), IN_TABLE(SIGNAL), IN_TABLE(BY_FP),
		    IN_TABLE(ROOT));
	/* Somewhere in the restorer, interrupted; and pushed by somebody who kept it. */
	begin(w, TABLE + SIGNAL + 7, context, 0);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(SIGNAL + 7), IN_TABLE(BY_FP), IN_TABLE(ROOT));
	begin(w, TABLE + SIGNAL, context, 0);
	w->walk.registers.is_return = 1;
	w->walk.pushed = true;
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_FP), IN_TABLE(ROOT));
}

/* musl's restorer has no rule. Its code is looked at only where nothing else is known. */
static void test_a_restorer_without_a_rule(void **state)
{
#if defined(UNWIND_X86_64)
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#else
	static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
	const unsigned size_of_call = sizeof(code) == 8 ? 4 : 2;
	struct world *w = *state;
	uint64_t context = BASE + 16;

	put(w, BASE + 8, NO_CFI + 33);
	put(w, context + UNWIND_SIGNAL_PC, TABLE + ROOT + 2);
	put(w, context + UNWIND_SIGNAL_SP, TOP);
	w->code = code;
	w->code_at = NO_CFI + 33;
	begin(w, TABLE + BY_SP, BASE, 1);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_SP), frame_in_image(2, 33),
		    IN_TABLE(ROOT + 2));
	assert_int_equal(w->n_code_reads, 1);

	w->code_at++;
	begin(w, TABLE + BY_SP, BASE, 1);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(BY_SP), frame_in_image(2, 32));
	assert_int_equal(w->n_code_reads, 1);
	w->maps.read_code = NULL;
	begin(w, TABLE + BY_SP, BASE, 1);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(BY_SP), frame_in_image(2, 32));
	/* As the leaf: at either instruction, and nowhere else. */
	w->maps.read_code = world_read_code;
	w->code_at = NO_CFI + 33;
	for (unsigned i = 0; i < sizeof(code); i++) {
		begin(w, NO_CFI + 33 + i, context, 1);
		w->walk.registers.is_return = false;
		if (i == 0 || i == sizeof(code) - size_of_call)
			ASSERT_ENDS(w, STACK_COMPLETE, 0, frame_in_image(2, 33 + i),
				    IN_TABLE(ROOT + 2));
		else
			ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER,
				    frame_in_image(2, 33 + i));
	}
	/* Not past the end of the mapping. */
	put(w, BASE + 8, NO_CFI + LENGTH - 2);
	begin(w, TABLE + BY_SP, BASE, 1);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(BY_SP),
		    frame_in_image(2, LENGTH - 3));
	assert_int_equal(w->n_code_reads, 0);
}

/* n frames of 16 bytes from BASE on, all but the last one in BY_SP. */
static void recurse(struct world *w, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		put(w, BASE + 16 * i - 8, TABLE + (i + 1 < n ? BY_SP + 8 : ROOT + 8));
	begin(w, TABLE + BY_SP + 7, BASE, 0);
}

static void test_depth(void **state)
{
	struct world *w = *state;
	uint64_t frames[FRAMES + 1];

	for (unsigned i = 0; i <= FRAMES; i++)
		frames[i] = IN_TABLE(BY_SP + 7);
	frames[FRAMES - 1] = IN_TABLE(ROOT + 7);
	recurse(w, FRAMES);
	assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
	assert_quality(w, STACK_COMPLETE, 0);
	assert_frames(w, frames, FRAMES);

	frames[FRAMES - 1] = frames[0];
	w->frames[FRAMES] = 42;
	recurse(w, FRAMES + 1);
	assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
	assert_quality(w, STACK_TRUNCATED, TRUNCATED_DEPTH);
	assert_frames(w, frames, FRAMES);
	assert_int_equal(w->frames[FRAMES], 42);

	/* What another walk has found before counts. */
	recurse(w, 11);
	w->walk.max_frames = 20;
	w->walk.n_frames = 10;
	assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
	assert_quality(w, STACK_TRUNCATED, TRUNCATED_DEPTH);
	assert_int_equal(w->walk.n_frames, 20);
	recurse(w, 11);
	w->walk.max_frames = 20;
	w->walk.n_frames = 10;
	w->walk.pushed = true;
	assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
	assert_quality(w, STACK_COMPLETE, 0);
	assert_int_equal(w->walk.n_frames, 20);
	w->walk.max_frames = 0;
	w->walk.n_frames = 0;
	w->walk.pushed = false;
	assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
	assert_quality(w, STACK_TRUNCATED, TRUNCATED_DEPTH);
}

/* ld.so's first instructions have no rule: nothing can be above them. */
static void test_where_the_program_began(void **state)
{
	struct world *w = *state;
	const uint64_t start = BASE + 512;

	for (uint64_t sp = start - 128; sp <= start + 128; sp += 8) {
		begin(w, TABLE + BY_SP, sp - 16, 0);
		w->walk.start_stack = start;
		put(w, sp - 8, NO_CFI + 6);
		if (sp >= start - 64 && sp <= start + 64)
			ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_SP), frame_in_image(2, 5));
		else
			ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(BY_SP),
				    frame_in_image(2, 5));
	}
	/* A leaf; one with something else in its frame pointer; one that has a frame. */
	begin(w, NONE, start, 0);
	w->walk.start_stack = start;
	ASSERT_ENDS(w, STACK_COMPLETE, 0, NONE);
	begin(w, NONE, start, start + 160);
	w->walk.start_stack = start;
	ASSERT_ENDS(w, STACK_COMPLETE, 0, NONE);
	begin(w, NONE, start - 32, start - 16);
	w->walk.start_stack = start;
	put(w, start - 16, 0);
	put(w, start - 8, NO_CFI + 1);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, NONE, frame_in_image(2, 0));
	/* Where it began must be known. */
	begin(w, NONE, 0, 1);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, NONE);
	/* A rule that takes the number of arguments for a return address. */
	begin(w, TABLE + TO_HERE, start, 0);
	w->walk.start_stack = start;
	put(w, start, 3);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(TO_HERE));
	begin(w, TABLE + TO_HERE, start, 0);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_RULE, IN_TABLE(TO_HERE));
}

/* 32-bit programs: frame pointers only, in words of four bytes; their rules are other rules. */
static void begin_32_bit(struct world *w, uint64_t pc)
{
	begin(w, pc, BASE, BASE + 4);
	w->walk.registers.compat = 1;
}

static void test_32_bit(void **state)
{
	const uint64_t call = ABSENT + 8, last = frame_in_image(ABSENT_NO, OFFSET + 8);
	struct world *w = *state;

	/* Saved frame pointers have 32 bits: the stack's addresses must fit to go on. */
	put(w, BASE + 4, (call + 1) << 32);
#if !defined(UNWIND_X86_64)
	/* Nobody knows where they are. */
	(void)last;
	begin_32_bit(w, TABLE + BY_SP);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(BY_SP));
#else
	begin_32_bit(w, TABLE + BY_SP);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_UNKNOWN, IN_TABLE(BY_SP), last);
	/* What ends in the program's own code ends. */
	for (uint64_t from = call - 1; from <= call + 1; from++)
		for (uint64_t to = call; to <= call + 2; to++) {
			begin_32_bit(w, TABLE + BY_SP);
			w->walk.start_code = from;
			w->walk.end_code = to;
			if (from <= call && call < to)
				ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(BY_SP), last);
			else
				ASSERT_ENDS(w, STACK_BROKEN, BROKEN_UNKNOWN, IN_TABLE(BY_SP), last);
		}
	/* Of other programs that is not asked. */
	begin(w, NONE, BASE, BASE + 8);
	w->walk.start_code = TABLE;
	w->walk.end_code = TABLE + LENGTH;
	put(w, BASE + 8, 0);
	put(w, BASE + 16, NO_CFI + 1);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, NONE, frame_in_image(2, 0));
#endif
	put(w, BASE + 4, (NOWHERE + 9) << 32);
	begin_32_bit(w, TABLE + ROOT);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(ROOT));
}

#if defined(UNWIND_X86_64)
static void test_vsyscall_page(void **state)
{
	struct world *w = *state;

	begin(w, UINT64_C(0xffffffffff600400), BASE, 0);
	put(w, BASE, TABLE + ROOT + 4);
	ASSERT_ENDS(w, STACK_COMPLETE, 0, IN_TABLE(ROOT + 3));
	/* Without a caller it is no root, even where a stack begins. Nor is what is beside it. */
	for (uint64_t pc = UINT64_C(0xffffffffff600400); pc <= UINT64_C(0xffffffffff601000);
	     pc += 0xc00) {
		begin(w, pc, BASE, 0);
		w->walk.start_stack = BASE + 8;
		put(w, BASE, 0);
		copy_stack(w, BASE, TOP);
		assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
		assert_quality(w, STACK_BROKEN, BROKEN_UNMAPPED);
		assert_int_equal(w->walk.n_frames, 0);
	}
	begin(w, UINT64_C(0xffffffffff600400), TOP, 0);
	assert_int_equal(walk_run(&w->walk, &w->maps), WALK_MEMORY);
	assert_int_equal(w->walk.address, TOP);
}
#endif

/* A process can have any registers: sigreturn(2) and ptrace(2) set them. They are no frames. */
static void test_addresses_that_are_other_kinds_of_frames(void **state)
{
	static const uint64_t pcs[] = {
		UINT64_C(0x1000000500001234), /* an image's */
		UINT64_C(0x4000000000000001), /* a marker */
		UINT64_C(0xffffffff81000000), /* the kernel's */
		0,                            /* looked up one byte before */
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(pcs) / sizeof(pcs[0]); i++) {
		begin(w, pcs[i], BASE, 0);
		w->walk.registers.is_return = !pcs[i];
		assert_int_equal(walk_run(&w->walk, &w->maps), WALK_ENDED);
		assert_quality(w, STACK_BROKEN, BROKEN_UNMAPPED);
		assert_int_equal(w->walk.n_frames, 0);
	}
}

/* Slots that do not exist are no tables. */
static void test_slots_outside(void **state)
{
	struct world *w = *state;

	w->maps.n_slots = 0;
	begin(w, TABLE + ROOT, BASE, 0);
	ASSERT_ENDS(w, STACK_BROKEN, BROKEN_FRAME_POINTER, IN_TABLE(ROOT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_to_the_root),
		WORLD_TEST(test_anchors),
		WORLD_TEST(test_callers_are_looked_up_before_their_address),
		WORLD_TEST(test_frames_without_an_image_are_addresses),
		WORLD_TEST(test_frame_pointers_to_the_last),
		WORLD_TEST(test_a_rule_knows_better_than_a_zero),
		WORLD_TEST(test_frame_pointers_that_lead_nowhere),
		WORLD_TEST(test_addresses_of_no_mapping),
		WORLD_TEST(test_rules_that_cannot_be_followed),
		WORLD_TEST(test_a_refused_table),
		WORLD_TEST(test_through_a_signal),
		WORLD_TEST(test_a_restorer_without_a_rule),
		WORLD_TEST(test_depth),
		WORLD_TEST(test_where_the_program_began),
		WORLD_TEST(test_32_bit),
#if defined(UNWIND_X86_64)
		WORLD_TEST(test_vsyscall_page),
#endif
		WORLD_TEST(test_addresses_that_are_other_kinds_of_frames),
		WORLD_TEST(test_slots_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
