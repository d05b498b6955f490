/* SPDX-License-Identifier: MIT */
/* Single steps over a stack that is an array, and what they make of memory that lies. */
#include "tests/unit/unwind/step_fixture.h"

static void test_lookup_address(void **state)
{
	struct unwind_registers r = somewhere();

	(void)state;
	assert_true(unwind_lookup_pc(&r) == CODE);
	r.is_return = 1;
	assert_true(unwind_lookup_pc(&r) == CODE - 1);
}

static void test_kinds_without_a_caller(void **state)
{
	const struct unwind_registers r = somewhere();

	(void)state;
	assert_refused(&r, RULE_WORD(RULE_UNKNOWN), UNWIND_STEP_NO_RULE);
	assert_refused(&r, RULE_WORD(RULE_ROOT), UNWIND_STEP_ROOT);
	assert_refused(&r, RULE_WORD(RULE_ODD), UNWIND_STEP_ODD);
	for (unsigned kind = N_RULE_KINDS; kind < 16; kind++)
		assert_refused(&r, RULE_WORD(kind), UNWIND_STEP_ODD);
}

static void test_cfa_by_stack_pointer(void **state)
{
	struct unwind_registers r = somewhere();
	const struct rule rule = {.kind = RULE_CFA, .cfa_offset = 48, .ra_offset = -8};

	(void)state;
	r.above_signal = 1;
	put(r.sp + 40, CODE + 100);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE + 100);
	assert_true(r.sp == BASE + 256 + 48);
	assert_true(r.fp == BASE + 512);
	assert_true(r.known == UNWIND_KNOWN_FP);
	assert_int_equal(r.is_return, 1);
	assert_int_equal(r.above_signal, 0);
}

static void test_cfa_by_frame_pointer(void **state)
{
	struct unwind_registers r = somewhere();
	const struct rule rule = {.kind = RULE_CFA,
				  .base = RULE_BASE_FP,
				  .cfa_offset = 16,
				  .fp_kind = RULE_FP_AT_CFA,
				  .fp_offset = -16,
				  .ra_offset = -8};

	(void)state;
	put(r.fp, BASE + 1024);
	put(r.fp + 8, CODE + 7);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE + 7);
	assert_true(r.sp == BASE + 528);
	assert_true(r.fp == BASE + 1024);
	r.known = 0;
	assert_refused(&r, word_of(&rule), UNWIND_STEP_ODD);
}

/* gcc's stack realignment: the CFA is in a word below the frame, the frame pointer at itself. */
static void test_dereference(void **state)
{
	struct unwind_registers r = somewhere();
	const struct rule rule = {.kind = RULE_DEREF,
				  .base = RULE_BASE_FP,
				  .cfa_offset = -8,
				  .fp_kind = RULE_FP_AT_FP,
				  .ra_offset = -8,
				  .extra = 32};

	(void)state;
	put(r.fp - 8, BASE + 768);
	put(r.fp, BASE + 2000);
	put(BASE + 768 + 32 - 8, CODE + 9);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE + 9);
	assert_true(r.sp == BASE + 768 + 32);
	assert_true(r.fp == BASE + 2000);
}

static void test_what_is_added_may_be_negative(void **state)
{
	struct unwind_registers r = somewhere();
	const struct rule rule = {
		.kind = RULE_DEREF, .cfa_offset = 8, .ra_offset = -8, .extra = -128 * 8};

	(void)state;
	put(r.sp + 8, BASE + 3000);
	put(BASE + 3000 - 1024 - 8, CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.sp == BASE + 3000 - 1024);
}

/* The stub pushes at its eleventh byte; which of both words is the return address depends on it. */
static void test_plt(void **state)
{
	const struct rule rule = {.kind = RULE_PLT, .cfa_offset = 8, .ra_offset = -8, .extra = 11};

	(void)state;
	for (uint64_t at = 0; at < 16; at++) {
		struct unwind_registers r = somewhere();
		uint64_t cfa = r.sp + (at >= 11 ? 16 : 8);

		r.pc = UINT64_C(0x555500002000) + at;
		put(r.sp, CODE + 1);
		put(r.sp + 8, CODE + 2);
		assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
		assert_true(r.sp == cfa);
		assert_true(r.pc == CODE + (at >= 11 ? 2 : 1));
	}
}

static void test_saved_frame_pointer(void **state)
{
	struct rule rule = {.kind = RULE_CFA,
			    .cfa_offset = 4096 - 8,
			    .fp_kind = RULE_FP_AT_CFA,
			    .fp_offset = -4096 + 16,
			    .ra_offset = -4096 + 24};
	struct unwind_registers r = somewhere();

	(void)state;
	r.sp = BASE;
	put(BASE + 8, 77);
	put(BASE + 16, CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.fp == 77);
	assert_true(r.pc == CODE);
	assert_true(r.known == UNWIND_KNOWN_FP);

	r = somewhere();
	rule = (struct rule){
		.kind = RULE_CFA, .cfa_offset = 8, .fp_kind = RULE_FP_LOST, .ra_offset = -8};
	put(r.sp, CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_int_equal(r.known, 0);
	/* What is lost stays lost, and is no address to read at. */
	rule.fp_kind = RULE_FP_SAME;
	put(r.sp, CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_int_equal(r.known, 0);
	rule.fp_kind = RULE_FP_AT_FP;
	r.fp = 8;
	put(r.sp, CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_int_equal(r.known, 0);
}

static void test_other_bases(void **state)
{
	(void)state;
	for (unsigned base = RULE_BASE_OTHER; base < N_RULE_BASES; base++) {
		const struct rule rule = {
			.kind = RULE_CFA, .base = base, .cfa_offset = 8, .ra_offset = -8};
		struct unwind_registers r = somewhere();

		assert_refused(&r, word_of(&rule), UNWIND_STEP_ODD);
		r.known |= UNWIND_KNOWN(base);
		r.others[base - RULE_BASE_OTHER] = BASE + 640;
		put(BASE + 640, CODE);
		assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
		assert_true(r.sp == BASE + 648);
		/* What the next frame's CFA may count from, too. */
#if defined(UNWIND_X86_64)
		assert_true(r.known ==
			    (UNWIND_KNOWN_FP | (UNWIND_KNOWN(base) & UNWIND_KNOWN_SCRATCH)));
#else
		assert_true(r.known == UNWIND_KNOWN_FP);
#endif
	}
}

/* Results that no caller can have. */
static void test_implausible_callers(void **state)
{
	struct rule rule = {.kind = RULE_CFA, .ra_offset = -8};
	struct unwind_registers r = somewhere();
	static const uint64_t addresses[] = {0, 1, 4095, UNWIND_USER_LIMIT, UINT64_MAX};

	(void)state;
	put(r.sp - 8, CODE);
	assert_refused(&r, word_of(&rule), UNWIND_STEP_IMPLAUSIBLE); /* CFA == sp */
	rule.cfa_offset = -8;
	put(r.sp - 16, CODE);
	assert_refused(&r, word_of(&rule), UNWIND_STEP_IMPLAUSIBLE);
	rule.cfa_offset = 8;
	for (unsigned i = 0; i < 5; i++) {
		/* On aarch64 the upper bits do not count: they sign the address. */
		bool fits = (addresses[i] & UNWIND_RETURN_MASK) >= 4096 &&
			    (addresses[i] & UNWIND_RETURN_MASK) < UNWIND_USER_LIMIT;

		put(r.sp, addresses[i]);
		if (!fits)
			assert_refused(&r, word_of(&rule), UNWIND_STEP_IMPLAUSIBLE);
	}
	put(r.sp, 4096);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
}

/* Bases and saved words about the end of all addresses: sums wrap, nothing is believed. */
static void test_wrapping_sums(void **state)
{
	static const uint64_t bases[] = {UINT64_MAX,
					 UINT64_MAX - 7,
					 UINT64_MAX - 1024,
					 UINT64_C(1) << 63,
					 UNWIND_USER_LIMIT,
					 0,
					 8};
	static const int offsets[] = {8, -8, 16, 4088, -4096, 131071 * 8, -131072 * 8};

	(void)state;
	for (unsigned i = 0; i < 7 * 7; i++) {
		struct rule rule = {.kind = RULE_CFA,
				    .base = RULE_BASE_FP,
				    .cfa_offset = offsets[i % 7],
				    .ra_offset = -8};
		struct unwind_registers r = somewhere(), before;

		r.fp = bases[i / 7];
		before = r;
		assert_int_not_equal(unwind_step_rule(&r, word_of(&rule), &memory),
				     UNWIND_STEP_CALLER);
		assert_int_not_equal(unwind_step_fp(&r, &memory), UNWIND_STEP_CALLER);
		rule.kind = RULE_DEREF;
		rule.cfa_offset = 0;
		rule.extra = offsets[i % 7] % 1016;
		r.fp = r.sp;
		put(r.sp, bases[i / 7]);
		assert_int_not_equal(unwind_step_rule(&r, word_of(&rule), &memory),
				     UNWIND_STEP_CALLER);
		r.fp = before.fp;
		assert_memory_equal(&r, &before, sizeof(r));
	}
}

static void test_unreadable_words(void **state)
{
	struct rule rule = {.kind = RULE_CFA, .cfa_offset = 8, .ra_offset = -8};
	struct unwind_registers r = somewhere();

	(void)state;
	r.sp = TOP;
	assert_refused(&r, word_of(&rule), UNWIND_STEP_UNREADABLE);
	assert_true(memory.missing == TOP);
	r.sp = TOP - 7;
	assert_refused(&r, word_of(&rule), UNWIND_STEP_UNREADABLE);
	r.sp = BASE - 8;
	assert_refused(&r, word_of(&rule), UNWIND_STEP_UNREADABLE);
	assert_true(memory.missing == BASE - 8);
	r.sp = TOP - 160;
	assert_refused(&r, RULE_WORD(RULE_SIGNAL), UNWIND_STEP_UNREADABLE);
	rule.kind = RULE_DEREF;
	r.sp = TOP - 8;
	assert_refused(&r, word_of(&rule), UNWIND_STEP_UNREADABLE);
	/* The return address is there, the saved frame pointer is not. */
	rule = (struct rule){.kind = RULE_CFA,
			     .cfa_offset = 8,
			     .fp_kind = RULE_FP_AT_CFA,
			     .fp_offset = 8,
			     .ra_offset = -8};
	put(r.sp, CODE);
	assert_refused(&r, word_of(&rule), UNWIND_STEP_UNREADABLE);
	assert_true(memory.missing == TOP + 8);
	r.fp = TOP - 8;
	assert_fp_refused(&r, UNWIND_STEP_UNREADABLE);
	r.fp = TOP;
	assert_fp_refused(&r, UNWIND_STEP_UNREADABLE);
}

/* Several copies, the second one above a hole: words come from the one that has them. */
static void test_regions(void **state)
{
	uint64_t other[2] = {CODE + 3, 5}, word;

	(void)state;
	memory.regions[memory.n_regions++] = (struct unwind_region){UINT64_MAX - 15, sizeof(other),
								    (const uint8_t *)other};
	memory.regions[memory.n_regions++] = (struct unwind_region){TOP + 64, 7,
								    (const uint8_t *)other};
	assert_true(unwind_read(&memory, UINT64_MAX - 15, &word));
	assert_true(word == CODE + 3);
	assert_true(unwind_read(&memory, UINT64_MAX - 7, &word));
	assert_true(word == 5);
	assert_false(unwind_read(&memory, UINT64_MAX - 6, &word));
	assert_false(unwind_read(&memory, UINT64_MAX, &word));
	assert_false(unwind_read(&memory, 0, &word));
	assert_false(unwind_read(&memory, TOP + 64, &word));
	assert_true(unwind_read(&memory, TOP - 8, &word));
	assert_false(unwind_read(&memory, TOP - 7, &word));
}

static void test_frame_pointer(void **state)
{
	const struct rule rule = {.kind = RULE_CFA, .cfa_offset = 8, .ra_offset = -8};
	struct unwind_registers r = somewhere(), above;

	(void)state;
	put(r.fp, BASE + 2048);
	put(r.fp + 8, CODE + 4);
	put(BASE + 2048, 0);
	put(BASE + 2056, CODE + 5);
	r.above_signal = 1;
	assert_int_equal(unwind_step_fp(&r, &memory), UNWIND_STEP_CALLER);
	assert_int_equal(r.is_last, 0);
	assert_true(r.pc == CODE + 4);
	assert_true(r.sp == BASE + 528);
	assert_true(r.fp == BASE + 2048);
	assert_int_equal(r.is_return, 1);
	assert_int_equal(r.above_signal, 0);
	assert_int_equal(unwind_step_fp(&r, &memory), UNWIND_STEP_CALLER);
	assert_int_equal(r.is_last, 1);
	assert_true(r.pc == CODE + 5);
	put(r.sp, CODE + 6);
	above = r;
	assert_int_equal(unwind_step_rule(&above, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_int_equal(above.is_last, 0);
	above = r;
	above.sp = BASE + 4096; /* a signal's: zeroes */
	assert_int_equal(unwind_step_signal(&above, &memory), UNWIND_STEP_CALLER);
	assert_int_equal(above.is_last, 0);
	assert_fp_refused(&r, UNWIND_STEP_IMPLAUSIBLE); /* zero is below the stack pointer */
}

static void test_frame_pointers_that_are_none(void **state)
{
	struct unwind_registers r = somewhere();

	(void)state;
	for (unsigned i = 1; i < 8; i++) {
		r.fp = BASE + 512 + i;
		put(BASE + 528, CODE);
		assert_fp_refused(&r, UNWIND_STEP_IMPLAUSIBLE);
	}
	r.fp = r.sp - 8;
	assert_fp_refused(&r, UNWIND_STEP_IMPLAUSIBLE);
	r.fp = UNWIND_USER_LIMIT;
	assert_fp_refused(&r, UNWIND_STEP_IMPLAUSIBLE);
	r.fp = BASE + 512;
	put(BASE + 520, 4095);
	assert_fp_refused(&r, UNWIND_STEP_IMPLAUSIBLE);
	put(BASE + 520, CODE);
	r.known = 0;
	assert_fp_refused(&r, UNWIND_STEP_IMPLAUSIBLE);
}

static uint64_t random_word(void)
{
	static const uint64_t near[] = {0, TOP, CODE, UINT64_MAX, UNWIND_USER_LIMIT};
	uint64_t word = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ (uint64_t)random();

	switch (random() % 4) {
	case 0:
		return word;
	case 1:
		return near[word % 5] + (word >> 8) % 512 - 256;
	}
	return BASE + word % (WORDS * 8) / 8 * 8;
}

static int random_offset(void)
{
	return ((int)(random() % 65) - 32) * 8;
}

static uint64_t random_rule(void)
{
	return rule_pack(&(struct rule){
		.kind = (unsigned)random() % N_RULE_KINDS,
		.base = (unsigned)random() % (N_RULE_BASES + 1),
		.fp_kind = (unsigned)random() % 4,
		.ra_kind = (unsigned)random() % 4,
		.cfa_offset = random_offset(),
		.fp_offset = random_offset(),
		.ra_offset = random_offset(),
		.extra = (int)(random() % 16) * 8,
	});
}

/* Any rule over any registers and memory: a step goes up, to another stack, or is refused. */
static void test_steps_go_up(void **state)
{
	unsigned n_callers = 0;

	(void)state;
	srandom(5);
	for (unsigned i = 0; i < 300000; i++) {
		struct unwind_registers r = {.pc = random_word(),
					     .sp = random_word(),
					     .fp = random_word(),
					     .known = (uint32_t)random() << 1};
		struct unwind_registers before;
		uint64_t rule = random_rule();
		int step;

		for (unsigned j = 0; j < UNWIND_OTHERS; j++)
			r.others[j] = random_word();
		stack[(size_t)random() % WORDS] = random_word();
		before = r;
		step = i % 4 ? unwind_step_rule(&r, rule, &memory) : unwind_step_fp(&r, &memory);
		if (step != UNWIND_STEP_CALLER) {
			assert_memory_equal(&r, &before, sizeof(r));
			continue;
		}
		n_callers++;
		assert_true(r.pc < UNWIND_USER_LIMIT);
		if (!r.above_signal && !(i % 4 && RULE_KIND(rule) == RULE_GO))
			assert_true(r.sp > before.sp || (i % 4 && RULE_RA(rule) != RULE_RA_AT_CFA &&
							 r.sp == before.sp));
	}
	assert_true(n_callers > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lookup_address, setup),
		cmocka_unit_test_setup(test_kinds_without_a_caller, setup),
		cmocka_unit_test_setup(test_cfa_by_stack_pointer, setup),
		cmocka_unit_test_setup(test_cfa_by_frame_pointer, setup),
		cmocka_unit_test_setup(test_dereference, setup),
		cmocka_unit_test_setup(test_what_is_added_may_be_negative, setup),
		cmocka_unit_test_setup(test_plt, setup),
		cmocka_unit_test_setup(test_saved_frame_pointer, setup),
		cmocka_unit_test_setup(test_other_bases, setup),
		cmocka_unit_test_setup(test_implausible_callers, setup),
		cmocka_unit_test_setup(test_wrapping_sums, setup),
		cmocka_unit_test_setup(test_unreadable_words, setup),
		cmocka_unit_test_setup(test_regions, setup),
		cmocka_unit_test_setup(test_frame_pointer, setup),
		cmocka_unit_test_setup(test_frame_pointers_that_are_none, setup),
		cmocka_unit_test_setup(test_steps_go_up, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
