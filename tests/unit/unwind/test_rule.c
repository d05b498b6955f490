/* SPDX-License-Identifier: MIT */
/* What a word holds comes out of it again, at the limits of each field and at random inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/unwind/rule.h"
#include "tests/support/rule_unpack.h"

#define CFA_MAX   (((1 << 17) - 1) * 8)
#define CFA_MIN   (-(1 << 17) * 8)
#define SAVED_MAX (((1 << 12) - 1) * 8)
#define SAVED_MIN (-(1 << 12) * 8)

static void assert_same(const struct rule *a, const struct rule *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->fp_kind, b->fp_kind);
	assert_int_equal(a->ra_kind, b->ra_kind);
	assert_int_equal(a->cfa_offset, b->cfa_offset);
	assert_int_equal(a->fp_offset, b->fp_offset);
	assert_int_equal(a->ra_offset, b->ra_offset);
	assert_int_equal(a->extra, b->extra);
}

static void assert_round_trip(const struct rule *rule)
{
	unwind_u64 word = rule_pack(rule);
	struct rule back = rule_unpack(word);

	assert_same(rule, &back);
	assert_true(rule_pack(&back) == word);
}

static void assert_odd(const struct rule *rule)
{
	assert_true(rule_pack(rule) == RULE_WORD(RULE_ODD));
}

static void test_a_word_of_zeroes_is_unknown(void **state)
{
	const struct rule rule = rule_unpack(0);

	(void)state;
	assert_int_equal(rule.kind, RULE_UNKNOWN);
	assert_int_equal(RULE_KIND(RULE_WORD(RULE_ROOT)), RULE_ROOT);
	assert_int_equal(RULE_KIND(RULE_WORD(RULE_SIGNAL)), RULE_SIGNAL);
}

/* Each field at its ends, the others at zero and at their own other end: none touches another. */
static void test_limits(void **state)
{
	static const int cfa[] = {0, 8, -8, CFA_MAX, CFA_MIN};
	static const int saved[] = {0, 8, -8, SAVED_MAX, SAVED_MIN};
	static const int extra[] = {0, 1, 15, 255};

	(void)state;
	for (unsigned i = 0; i < 5 * 5 * 5 * 4; i++) {
		struct rule rule = {
			.kind = i & 1 ? RULE_CFA : RULE_PLT,
			.base = i & 2 ? N_RULE_BASES - 1 : 0,
			.fp_kind = i & 3,
			.ra_kind = i % 3,
			.cfa_offset = cfa[i % 5],
			.fp_offset = saved[i / 5 % 5],
			.ra_offset = saved[i / 25 % 5],
			.extra = extra[i / 125],
		};

		assert_round_trip(&rule);
	}
}

static void test_what_does_not_fit_is_odd(void **state)
{
	(void)state;
	assert_odd(&(struct rule){.kind = RULE_CFA, .cfa_offset = CFA_MAX + 8});
	assert_odd(&(struct rule){.kind = RULE_CFA, .cfa_offset = CFA_MIN - 8});
	assert_odd(&(struct rule){.kind = RULE_CFA, .cfa_offset = 12});
	assert_odd(&(struct rule){.kind = RULE_CFA, .cfa_offset = -1});
	assert_odd(&(struct rule){.kind = RULE_CFA, .cfa_offset = INT32_MAX});
	assert_odd(&(struct rule){.kind = RULE_CFA, .cfa_offset = INT32_MIN});
	assert_odd(&(struct rule){.kind = RULE_CFA, .fp_offset = SAVED_MAX + 8});
	assert_odd(&(struct rule){.kind = RULE_CFA, .fp_offset = SAVED_MIN - 8});
	assert_odd(&(struct rule){.kind = RULE_CFA, .ra_offset = SAVED_MAX + 8});
	assert_odd(&(struct rule){.kind = RULE_CFA, .ra_offset = SAVED_MIN - 8});
	assert_odd(&(struct rule){.kind = RULE_CFA, .ra_offset = 4});
	assert_odd(&(struct rule){.kind = RULE_CFA, .extra = 256});
	assert_odd(&(struct rule){.kind = RULE_CFA, .extra = -1});
}

static void test_what_is_added_after_a_dereference(void **state)
{
	static const int fits[] = {0, 8, -8, 127 * 8, -128 * 8};
	static const int unfit[] = {128 * 8, -129 * 8, 4, -4, INT32_MAX, INT32_MIN};

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct rule rule = {.kind = RULE_DEREF,
				    .base = RULE_BASE_FP,
				    .cfa_offset = -8,
				    .ra_offset = -8,
				    .extra = fits[i]};

		assert_round_trip(&rule);
	}
	for (unsigned i = 0; i < 6; i++)
		assert_odd(&(struct rule){.kind = RULE_DEREF, .extra = unfit[i]});
}

static int within(int min, int max)
{
	return min + (int)(random() % (max - min + 1));
}

static void test_random_rules(void **state)
{
	(void)state;
	srandom(1);
	for (unsigned i = 0; i < 100000; i++) {
		struct rule rule = {
			.kind = (unsigned)within(0, 15),
			.base = (unsigned)within(0, 15),
			.fp_kind = (unsigned)within(0, 3),
			.ra_kind = (unsigned)within(0, 3),
			.cfa_offset = within(CFA_MIN / 8, CFA_MAX / 8) * 8,
			.fp_offset = within(SAVED_MIN / 8, SAVED_MAX / 8) * 8,
			.ra_offset = within(SAVED_MIN / 8, SAVED_MAX / 8) * 8,
		};

		rule.extra = rule.kind == RULE_DEREF ? within(-128, 127) * 8 : within(0, 255);
		assert_round_trip(&rule);
	}
}

/* Any word unpacks to something that packs to the same word: there are no unused bits. */
static void test_random_words(void **state)
{
	(void)state;
	srandom(2);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t word = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^
				(uint64_t)random();
		struct rule rule = rule_unpack(word);

		assert_true(rule_pack(&rule) == word);
	}
}

/* Each field of a stack switch at its ends, the others at their own other end. */
static void test_go(void **state)
{
	static const struct rule_go ends[2] = {
		{0, 0, 0, 0, 0, 0, 0, -(1 << 14) * 8},
		{N_RULE_GO_PLACES - 1, 255 * 8, 1, 255 * 8, 4095 * 8, 63 * 8, 63 * 8,
		 ((1 << 14) - 1) * 8},
	};

	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		const struct rule_go rule = {
			ends[i & 1].place,         ends[i >> 1 & 1].cfa_offset,
			ends[i >> 2 & 1].saves_fp, ends[i >> 3 & 1].g_m,
			ends[i >> 4 & 1].m_curg,   ends[i >> 5 & 1].sched_sp,
			ends[i >> 6 & 1].sched_fp, ends[i >> 7 & 1].g,
		};
		unwind_u64 word = rule_go_pack(&rule);

		assert_int_equal(RULE_KIND(word), RULE_GO);
		assert_int_equal(RULE_GO_PLACE(word), rule.place);
		assert_int_equal(RULE_GO_CFA_OFFSET(word), rule.cfa_offset);
		assert_int_equal(RULE_GO_SAVES_FP(word), rule.saves_fp);
		assert_int_equal(RULE_GO_G_M(word), rule.g_m);
		assert_int_equal(RULE_GO_M_CURG(word), rule.m_curg);
		assert_int_equal(RULE_GO_SCHED_SP(word), rule.sched_sp);
		assert_int_equal(RULE_GO_SCHED_FP(word), rule.sched_fp);
		assert_int_equal(RULE_GO_G(word), rule.g);
	}
}

static void test_go_that_does_not_fit(void **state)
{
	static const struct rule_go odd[] = {
		{.place = N_RULE_GO_PLACES},
		{.cfa_offset = 256 * 8},
		{.cfa_offset = 4},
		{.g_m = 256 * 8},
		{.g_m = 1},
		{.m_curg = 4096 * 8},
		{.m_curg = 2},
		{.sched_sp = 64 * 8},
		{.sched_sp = 4},
		{.sched_fp = 64 * 8},
		{.sched_fp = 4},
		{.g = (1 << 14) * 8},
		{.g = -(1 << 14) * 8 - 8},
		{.g = 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_true(rule_go_pack(&odd[i]) == RULE_WORD(RULE_ODD));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_go_that_does_not_fit),
		cmocka_unit_test(test_a_word_of_zeroes_is_unknown),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_what_does_not_fit_is_odd),
		cmocka_unit_test(test_what_is_added_after_a_dereference),
		cmocka_unit_test(test_random_rules),
		cmocka_unit_test(test_random_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
