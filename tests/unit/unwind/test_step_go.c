/* SPDX-License-Identifier: MIT */
/* Steps from one stack to another as Go's runtime switches; g, m and both stacks are in one array.
 */
#include "tests/unit/unwind/step_fixture.h"

#if defined(UNWIND_X86_64)
/* A thread, its m, the g of its system stack, and the goroutine that it runs. */
#define THREAD (BASE + 8)
#define M      (BASE + 512)
#define G0     (BASE + 1024)
#define CURG   (BASE + 1536)
#define THEIRS (BASE + 64) /* a stack pointer, below that of the caller */
#define CFA    48

static const struct rule_go known = {.cfa_offset = CFA,
				     .saves_fp = 1,
				     .g_m = 48,
				     .m_curg = 184,
				     .sched_sp = 56,
				     .sched_fp = 96,
				     .g = -8};

static unwind_u64 word_at(unsigned place)
{
	struct rule_go rule = known;

	rule.place = place;
	return rule_go_pack(&rule);
}

/* @place, without a saved frame pointer. */
static unwind_u64 word_same(unsigned place)
{
	struct rule_go rule = known;

	rule.place = place;
	rule.saves_fp = 0;
	return rule_go_pack(&rule);
}

static struct unwind_registers in_go(void)
{
	struct unwind_registers r = somewhere();

	put(THREAD - 8, G0);
	put(G0 + 48, M);
	put(M, G0);
	put(M + 184, CURG);
	put(CURG + 48, M);
	r.sp = BASE + 4096;
	r.thread = THREAD;
	return r;
}

static void assert_caller(struct unwind_registers *r, unwind_u64 word, uint64_t sp, uint64_t fp)
{
	assert_int_equal(unwind_step_rule(r, word, &memory), UNWIND_STEP_CALLER);
	assert_true(r->pc == CODE + 7);
	assert_true(r->sp == sp);
	assert_true(r->fp == fp);
	assert_true(r->known == UNWIND_KNOWN_FP);
	assert_int_equal(r->is_return, 1);
}

static void test_saved(void **state)
{
	struct unwind_registers r = in_go();

	(void)state;
	put(CURG + 56, THEIRS);
	put(THEIRS + CFA - 8, CODE + 7);
	put(THEIRS + CFA - 16, BASE + 200);
	assert_caller(&r, word_at(RULE_GO_SAVED), THEIRS + CFA, BASE + 200);
	r = in_go();
	assert_caller(&r, word_same(RULE_GO_SAVED), THEIRS + CFA, BASE + 512);
	/* A frame pointer that was lost on the way stays lost. */
	r = in_go();
	r.known = 0;
	assert_int_equal(unwind_step_rule(&r, word_same(RULE_GO_SAVED), &memory),
			 UNWIND_STEP_CALLER);
	assert_true(r.known == 0);
}

static void test_resumed(void **state)
{
	struct unwind_registers r = in_go();

	(void)state;
	put(CURG + 56, THEIRS);
	put(CURG + 64, CODE + 7);
	put(CURG + 96, BASE + 200);
	r.known = 0;
	assert_caller(&r, word_at(RULE_GO_RESUMED), THEIRS, BASE + 200);
}

/* Between goroutines a thread has none: nothing called what it does then. */
static void test_no_goroutine(void **state)
{
	struct unwind_registers r = in_go();

	(void)state;
	put(M + 184, 0);
	assert_refused(&r, word_at(RULE_GO_RESUMED), UNWIND_STEP_ROOT);
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_ROOT);
}

/* C that Go called: a g, and how far below its stack's end the stack pointer was. */
static void test_called_c(void **state)
{
	const struct rule_go rule = {.place = RULE_GO_CALLED_C,
				     .cfa_offset = CFA,
				     .saves_fp = 1,
				     .g_m = 16,
				     .sched_sp = 24};
	struct unwind_registers r = in_go();

	(void)state;
	r.thread = 0;
	put(r.sp + 16, CURG);
	put(CURG + 8, BASE + 800);
	put(r.sp + 24, BASE + 800 - THEIRS);
	put(THEIRS + CFA - 8, CODE + 7);
	put(THEIRS + CFA - 16, BASE + 200);
	assert_caller(&r, rule_go_pack(&rule), THEIRS + CFA, BASE + 200);
}

/* Go that C called: the first frame's stack is where g0 has it, the next one's in that frame. */
static void test_called_back(void **state)
{
	struct unwind_registers r = in_go();

	(void)state;
	put(G0 + 56, THEIRS);
	put(THEIRS, BASE + 2048);
	put(THEIRS + CFA - 8, CODE + 7);
	put(THEIRS + CFA - 16, BASE + 200);
	assert_caller(&r, word_at(RULE_GO_CALLED_BACK), THEIRS + CFA, BASE + 200);
	assert_true(r.system_sp == BASE + 2048);
	put(BASE + 2048, BASE + 3072);
	put(BASE + 2048 + CFA - 8, CODE + 7);
	put(BASE + 2048 + CFA - 16, BASE + 208);
	assert_caller(&r, word_at(RULE_GO_CALLED_BACK), BASE + 2048 + CFA, BASE + 208);
	assert_true(r.system_sp == BASE + 3072);
}

/* The vdso is called on another stack, with the frame pointer of this one. */
static void test_by_frame_pointer(void **state)
{
	struct unwind_registers r = in_go();

	(void)state;
	r.fp = THEIRS;
	put(THEIRS + CFA - 8, CODE + 7);
	put(THEIRS + CFA - 16, BASE + 200);
	assert_caller(&r, word_at(RULE_GO_BY_FP), THEIRS + CFA, BASE + 200);
	r.known = 0;
	assert_refused(&r, word_at(RULE_GO_BY_FP), UNWIND_STEP_ODD);
}

static void test_what_cannot_be(void **state)
{
	struct unwind_registers r = in_go();

	(void)state;
	put(CURG + 56, THEIRS);
	put(THEIRS + CFA - 16, BASE + 200);
	put(THEIRS + CFA - 8, 4095);
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_IMPLAUSIBLE);
	put(THEIRS + CFA - 8, UNWIND_USER_LIMIT);
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_IMPLAUSIBLE);
	put(CURG + 56, THEIRS + 4);
	put(THEIRS + 4 + CFA - 8, CODE);
	put(THEIRS + 4 + CFA - 16, BASE + 200);
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_IMPLAUSIBLE);
	put(THEIRS + CFA - 8, CODE);
	put(CURG + 56, BASE - CFA);
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_UNREADABLE);
	put(M + 184, TOP);
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_UNREADABLE);
	put(G0 + 48, TOP);
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_UNREADABLE);
	put(THREAD - 8, TOP);
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_UNREADABLE);
	r.thread = 0;
	assert_refused(&r, word_at(RULE_GO_SAVED), UNWIND_STEP_ODD);
	assert_refused(&r, word_at(RULE_GO_RESUMED), UNWIND_STEP_ODD);
	assert_refused(&r, word_at(RULE_GO_CALLED_BACK), UNWIND_STEP_ODD);
}
#else
static void test_none(void **state)
{
	const struct unwind_registers r = somewhere();

	(void)state;
	assert_refused(&r, RULE_WORD(RULE_GO), UNWIND_STEP_ODD);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(UNWIND_X86_64)
		cmocka_unit_test_setup(test_saved, setup),
		cmocka_unit_test_setup(test_resumed, setup),
		cmocka_unit_test_setup(test_no_goroutine, setup),
		cmocka_unit_test_setup(test_called_c, setup),
		cmocka_unit_test_setup(test_called_back, setup),
		cmocka_unit_test_setup(test_by_frame_pointer, setup),
		cmocka_unit_test_setup(test_what_cannot_be, setup),
#else
		cmocka_unit_test_setup(test_none, setup),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
