/* SPDX-License-Identifier: MIT */
/* Steps that only one architecture knows, and signal frames, by the C library's ucontext_t. */
#include <ucontext.h>

#include "tests/unit/unwind/step_fixture.h"

#if defined(UNWIND_X86_64)
/* Of the two threads that return from it one has a caller. */
static void test_clone(void **state)
{
	struct unwind_registers r = somewhere();
	const struct rule as_cfa = {.kind = RULE_CFA, .cfa_offset = 8, .ra_offset = -8};
	unwind_u64 rule = word_of(&as_cfa) ^ RULE_CFA ^ RULE_CLONE;

	(void)state;
	put(r.sp, CODE + 100);
	r.known &= ~UNWIND_KNOWN(RULE_BASE_R12);
	assert_refused(&r, rule, UNWIND_STEP_ODD); /* no leaf */
	r.known |= UNWIND_KNOWN(RULE_BASE_R12);
	r.others[RULE_BASE_AX - RULE_BASE_OTHER] = 0;
	assert_refused(&r, rule, UNWIND_STEP_ROOT);
	r.others[RULE_BASE_AX - RULE_BASE_OTHER] = (unwind_u64)-38;
	assert_int_equal(unwind_step_rule(&r, rule, &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE + 100);
	assert_true(r.sp == BASE + 256 + 8);
}

static void test_frame_pointer_of_32_bit(void **state)
{
	struct unwind_registers r = somewhere();

	(void)state;
	r.compat = 1;
	r.fp = BASE + 512 + 4;
	put(r.fp, UINT64_C(0x0804900000000000) | 0xffffd000u);
	assert_int_equal(unwind_step_fp(&r, &memory), UNWIND_STEP_CALLER);
	assert_int_equal(r.is_last, 0);
	assert_true(r.pc == 0x08049000);
	assert_true(r.fp == 0xffffd000);
	assert_true(r.sp == BASE + 524);
	assert_int_equal(r.compat, 1);
	r.fp = BASE + 600;
	put(r.fp, UINT64_C(0x0804900100000000));
	assert_int_equal(unwind_step_fp(&r, &memory), UNWIND_STEP_CALLER);
	assert_int_equal(r.is_last, 1);
	r.fp = BASE + 702;
	assert_fp_refused(&r, UNWIND_STEP_IMPLAUSIBLE);
}

/* rbx is followed where a rule says how, as the base of a later CFA. */
static void test_rbx(void **state)
{
	struct rule rule = {
		.kind = RULE_CFA, .cfa_offset = 64, .ra_offset = -8, .extra = RULE_BX_SAME + 3};
	struct unwind_registers r = somewhere();

	(void)state;
	put(r.sp + 56, CODE);
	put(r.sp + 64 - 24, BASE + 900);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.known == (UNWIND_KNOWN_FP | UNWIND_KNOWN(RULE_BASE_BX)));
	assert_true(r.others[RULE_BASE_BX - RULE_BASE_OTHER] == BASE + 900);
	rule.extra = RULE_BX_SAME;
	put(r.sp + 56, CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.known == (UNWIND_KNOWN_FP | UNWIND_KNOWN(RULE_BASE_BX)));
	rule.extra = RULE_BX_LOST;
	put(r.sp + 56, CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.known == UNWIND_KNOWN_FP);
	rule.extra = RULE_BX_SAME;
	put(r.sp + 56, CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.known == UNWIND_KNOWN_FP);
	/* 255 - RULE_BX_SAME words below the CFA, which are not there. */
	rule.extra = 255;
	put(r.sp + 56, CODE);
	assert_refused(&r, word_of(&rule), UNWIND_STEP_UNREADABLE);
}

/* glibc's vfork has its return address in rdi; its caller's stack pointer is its own then. */
static void test_return_address_in_rdi(void **state)
{
	const struct rule rule = {.kind = RULE_CFA, .ra_kind = RULE_RA_IN_DI};
	struct unwind_registers r = somewhere();

	(void)state;
	assert_refused(&r, word_of(&rule), UNWIND_STEP_ODD);
	r.known |= UNWIND_KNOWN(RULE_BASE_DI);
	r.others[RULE_BASE_DI - RULE_BASE_OTHER] = 4095;
	assert_refused(&r, word_of(&rule), UNWIND_STEP_IMPLAUSIBLE);
	r.others[RULE_BASE_DI - RULE_BASE_OTHER] = CODE + 3;
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE + 3);
	assert_true(r.sp == BASE + 256);
	assert_refused(&r, word_of(&rule), UNWIND_STEP_ODD); /* not twice */
}

static void test_signal_frame(void **state)
{
	struct unwind_registers r = somewhere();
	ucontext_t *context = (ucontext_t *)(void *)(stack + 32);
	greg_t *g = context->uc_mcontext.gregs;

	(void)state;
	r.is_return = 1;
	g[REG_RIP] = (greg_t)CODE + 11;
	g[REG_RSP] = 0x7000;
	g[REG_RBP] = 0x7100;
	g[REG_RAX] = 1;
	g[REG_RBX] = 2;
	g[REG_RCX] = 3;
	g[REG_RDX] = 4;
	g[REG_R10] = 5;
	g[REG_R11] = 6;
	g[REG_RDI] = 7;
	g[REG_RSI] = 8;
	g[REG_R8] = 9;
	g[REG_R9] = 10;
	g[REG_R12] = 11;
	g[REG_R13] = 12;
	g[REG_R14] = 13;
	g[REG_R15] = 14;
	assert_true(r.sp == BASE + 32 * 8);
	assert_int_equal(unwind_step_rule(&r, RULE_WORD(RULE_SIGNAL), &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE + 11);
	assert_true(r.sp == 0x7000); /* below: another stack */
	assert_true(r.fp == 0x7100);
	for (unsigned i = 0; i < UNWIND_OTHERS; i++)
		assert_true(r.others[i] == i + 1);
	assert_true(r.known == (UNWIND_KNOWN_FP | 0x3fff));
	assert_int_equal(r.is_return, 0);
	assert_int_equal(r.above_signal, 1);

	r = somewhere();
	g[REG_RIP] = -1;
	assert_refused(&r, RULE_WORD(RULE_SIGNAL), UNWIND_STEP_IMPLAUSIBLE);
	g[REG_RIP] = (greg_t)CODE;
	g[REG_RSP] = INT64_MIN;
	assert_refused(&r, RULE_WORD(RULE_SIGNAL), UNWIND_STEP_IMPLAUSIBLE);
	r.sp = UINT64_MAX - 100;
	assert_refused(&r, RULE_WORD(RULE_SIGNAL), UNWIND_STEP_UNREADABLE);
}
#else
static void test_signal_frame(void **state)
{
	struct unwind_registers r = somewhere();
	ucontext_t *context = (ucontext_t *)(void *)((uint8_t *)(stack + 32) + 128);

	(void)state;
	r.is_return = 1;
	context->uc_mcontext.pc = CODE + 11;
	context->uc_mcontext.sp = 0x7000;
	context->uc_mcontext.regs[29] = 0x7100;
	context->uc_mcontext.regs[30] = CODE + 22;
	assert_int_equal(unwind_step_rule(&r, RULE_WORD(RULE_SIGNAL), &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE + 11);
	assert_true(r.sp == 0x7000);
	assert_true(r.fp == 0x7100);
	assert_true(r.others[0] == CODE + 22);
	assert_true(r.known == (UNWIND_KNOWN_FP | UNWIND_KNOWN(RULE_BASE_LR)));
	assert_int_equal(r.is_return, 0);
	assert_int_equal(r.above_signal, 1);
}

/* A leaf without a frame: the caller is in the link register, once. */
static void test_link_register(void **state)
{
	const struct rule rule = {.kind = RULE_CFA, .ra_kind = RULE_RA_IN_LR};
	struct unwind_registers r = somewhere();

	(void)state;
	assert_refused(&r, word_of(&rule), UNWIND_STEP_ODD);
	r.known |= UNWIND_KNOWN(RULE_BASE_LR);
	r.others[0] = UINT64_C(0x00b1000000000000) | CODE; /* signed */
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE);
	assert_true(r.sp == BASE + 256);
	assert_int_equal(r.is_return, 1);
	assert_refused(&r, word_of(&rule), UNWIND_STEP_ODD); /* not twice */
}

static void test_signed_return_address(void **state)
{
	const struct rule rule = {.kind = RULE_CFA, .cfa_offset = 32, .ra_offset = -24};
	struct unwind_registers r = somewhere();

	(void)state;
	put(r.sp + 8, UINT64_C(0xffb1000000000000) | CODE);
	assert_int_equal(unwind_step_rule(&r, word_of(&rule), &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE);
	put(r.fp + 8, UINT64_C(0x7f31000000000000) | CODE);
	assert_int_equal(unwind_step_fp(&r, &memory), UNWIND_STEP_CALLER);
	assert_true(r.pc == CODE);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_signal_frame, setup),
#if defined(UNWIND_X86_64)
		cmocka_unit_test_setup(test_frame_pointer_of_32_bit, setup),
		cmocka_unit_test_setup(test_rbx, setup),
		cmocka_unit_test_setup(test_return_address_in_rdi, setup),
		cmocka_unit_test_setup(test_clone, setup),
#else
		cmocka_unit_test_setup(test_link_register, setup),
		cmocka_unit_test_setup(test_signed_return_address, setup),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
