/* SPDX-License-Identifier: MIT */

/* What the compiler of call frame information makes of instructions; its records apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "tests/support/rule_unpack.h"
#include "tests/unit/unwind/test_cfi_bytes.h"

#define PROGRAM(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* One FDE over [0, 0x40) with the usual CIE. The rows are the caller's. */
static struct cfi_rows *compile_one(uint16_t machine, const uint8_t *program, size_t n)
{
	struct cfi_rows *rows = NULL;
	struct section s;

	section_init(&s, machine);
	put_usual_cie(&s);
	put_fde(&s, 0, 0x40, program, n);
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	return rows;
}

/* The rule of @program behind a first instruction of one byte. */
static uint64_t rule_of(uint16_t machine, const uint8_t *program, size_t n)
{
	struct cfi_rows *rows;
	uint8_t whole[256] = {0x41};
	uint64_t rule;

	assert_true(n < sizeof(whole));
	memcpy(whole + 1, program, n);
	rows = compile_one(machine, whole, n + 1);
	rule = rule_at(rows, 0x20);
	cfi_rows_free(rows);
	return rule;
}

static uint64_t with_fp(unsigned base, int offset, unsigned how, int fp_offset)
{
	struct rule rule = rule_unpack(plain(base, offset));

	rule.fp_kind = how;
	rule.fp_offset = fp_offset;
	return rule_pack(&rule);
}

static uint64_t deref(unsigned base, int offset, int added)
{
	struct rule rule = rule_unpack(plain(base, offset));

	rule.kind = RULE_DEREF;
	rule.extra = added;
	return rule_pack(&rule);
}

/* push %rbp; mov %rsp, %rbp; ...; pop %rbp; ret; and something behind the ret. */
static void test_prologue(void **state)
{
	struct cfi_rows *rows = compile_one(EM_X86_64,
					    PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02,
						    0x20, 0x0a, 0xc6, 0x0c, 7, 8, 0x41, 0x0b));

	(void)state;
	assert_int_equal(rule_at(rows, 0), plain(RULE_BASE_SP, 8));
	assert_int_equal(rule_at(rows, 1), with_fp(RULE_BASE_SP, 16, RULE_FP_AT_CFA, -16));
	assert_int_equal(rule_at(rows, 3), with_fp(RULE_BASE_SP, 16, RULE_FP_AT_CFA, -16));
	assert_int_equal(rule_at(rows, 4), with_fp(RULE_BASE_FP, 16, RULE_FP_AT_CFA, -16));
	assert_int_equal(rule_at(rows, 0x23), with_fp(RULE_BASE_FP, 16, RULE_FP_AT_CFA, -16));
	assert_int_equal(rule_at(rows, 0x24), plain(RULE_BASE_SP, 8));
	assert_int_equal(rule_at(rows, 0x25), with_fp(RULE_BASE_FP, 16, RULE_FP_AT_CFA, -16));
	assert_int_equal(rule_at(rows, 0x3f), with_fp(RULE_BASE_FP, 16, RULE_FP_AT_CFA, -16));
	assert_int_equal(rule_at(rows, 0x40), RULE_WORD(RULE_UNKNOWN));
	assert_int_equal(rows->n_rows, 6);
	assert_int_equal(rows->counters.fdes, 1);
	assert_int_equal(rows->counters.rows, 5);
	cfi_rows_free(rows);
}

/* Each way to go on by 0x10 bytes and then deepen the stack. */
static void test_advances(void **state)
{
	static const struct {
		uint8_t program[16];
		size_t n;
	} forms[] = {
		{{0x50, 0x0e, 16}, 3},
		{{0x02, 0x10, 0x0e, 16}, 4},
		{{0x03, 0x10, 0, 0x0e, 16}, 5},
		{{0x04, 0x10, 0, 0, 0, 0x0e, 16}, 7},
		{{0x1d, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16}, 11},
		{{0x48, 0x40, 0x48, 0x0e, 16}, 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct cfi_rows *rows = compile_one(EM_X86_64, forms[i].program, forms[i].n);

		assert_int_equal(rule_at(rows, 0x0f), plain(RULE_BASE_SP, 8));
		assert_int_equal(rule_at(rows, 0x10), plain(RULE_BASE_SP, 16));
		assert_int_equal(rows->n_rows, 3);
		cfi_rows_free(rows);
	}
}

static void test_set_loc(void **state)
{
	struct cfi_rows *rows = NULL;
	struct section s;

	(void)state;
	section_init(&s, EM_X86_64);
	s.encoding = 0x03; /* absolute, 32 bits */
	put_usual_cie(&s);
	put(&s.frame, 32 - 4, 4);
	put(&s.frame, s.frame.n - s.cie, 4);
	put(&s.frame, TEXT, 4);
	put(&s.frame, 0x40, 4);
	put(&s.frame, 0, 1);
	put(&s.frame, 0x01, 1);
	put(&s.frame, TEXT + 0x10, 4);
	put(&s.frame, 0x100e, 2);
	put(&s.frame, 0, 8);
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	assert_int_equal(rule_at(rows, 0x0f), plain(RULE_BASE_SP, 8));
	assert_int_equal(rule_at(rows, 0x10), plain(RULE_BASE_SP, 16));
	cfi_rows_free(rows);
}

/* To the end and far beyond: what follows does not count any more. */
static void test_advance_past_the_end(void **state)
{
	struct cfi_rows *rows = compile_one(EM_X86_64, PROGRAM(0x41, 0x0e, 16, 0x04, 0xff, 0xff,
							       0xff, 0xff, 0x0e, 24, 0xff));

	(void)state;
	assert_int_equal(rule_at(rows, 0x3f), plain(RULE_BASE_SP, 16));
	assert_int_equal(rule_at(rows, 0x40), RULE_WORD(RULE_UNKNOWN));
	assert_int_equal(rows->counters.malformed, 0);
	cfi_rows_free(rows);
}

static void test_cfa(void **state)
{
	static const uint8_t numbers[] = {7, 6, 0, 3, 2, 1, 10, 11, 5, 4, 8, 9, 12, 13, 14, 15};

	(void)state;
	for (unsigned i = 0; i < sizeof(numbers); i++) {
		uint64_t rule = rule_of(EM_X86_64, PROGRAM(0x0c, numbers[i], 32));

		assert_int_equal(RULE_KIND(rule), RULE_CFA);
		assert_int_equal(RULE_BASE(rule), i);
		assert_int_equal(RULE_CFA_OFFSET(rule), 32);
	}
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x12, 6, 0x7c)), plain(RULE_BASE_FP, 32));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x13, 0x7c)), plain(RULE_BASE_SP, 32));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x13, 0x04)), plain(RULE_BASE_SP, -32));
	/* Another register, a number that is no multiple of 8, numbers that are too large. */
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0c, 16, 32)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0e, 12)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0e, 0xf8, 0xff, 0x3f)),
			 plain(RULE_BASE_SP, (1 << 20) - 8));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0e, 0x80, 0x80, 0x40)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64,
				 PROGRAM(0x0e, 0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1)),
			 RULE_ODD);
}

static void test_return_address(void **state)
{
	struct rule rule = rule_unpack(plain(RULE_BASE_SP, 8));

	(void)state;
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x07, 16)), RULE_ROOT);
	rule.ra_offset = -24;
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x90, 3)), rule_pack(&rule));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x05, 16, 3)), rule_pack(&rule));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x11, 16, 3)), rule_pack(&rule));
	/* At an expression: rsp - 16, which is CFA - 24. */
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x10, 16, 2, 0x77, 0x70)), rule_pack(&rule));
	rule.ra_offset = 16;
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x2f, 16, 2)), rule_pack(&rule));
	/* In rdi, as vfork has it; in another register; as it was; a value. */
	rule.ra_kind = RULE_RA_IN_DI;
	rule.ra_offset = 0;
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x09, 16, 5)), rule_pack(&rule));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x09, 16, 2)), RULE_ODD);
	assert_int_equal(rule_of(EM_AARCH64, PROGRAM(0x09, 30, 5)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x08, 16)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x14, 16, 1)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x10, 16, 2, 0x73, 0)), RULE_ODD);
	/* And back to what the CIE says. */
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x07, 16, 0xd0)), plain(RULE_BASE_SP, 8));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x07, 16, 0x06, 16)), plain(RULE_BASE_SP, 8));
}

static void test_frame_pointer(void **state)
{
	static const struct {
		uint8_t program[8];
		size_t n;
		int how, offset;
	} forms[] = {
		{{0x86, 4}, 2, RULE_FP_AT_CFA, -32},
		{{0x05, 6, 4}, 3, RULE_FP_AT_CFA, -32},
		{{0x11, 6, 0x7c}, 3, RULE_FP_AT_CFA, 32},
		{{0x2f, 6, 4}, 3, RULE_FP_AT_CFA, 32},
		{{0x86, 4, 0xc6}, 3, RULE_FP_SAME, 0},
		{{0x86, 4, 0x06, 6}, 4, RULE_FP_SAME, 0},
		{{0x86, 4, 0x08, 6}, 4, RULE_FP_SAME, 0},
		{{0x07, 6}, 2, RULE_FP_LOST, 0},
		{{0x09, 6, 12}, 3, RULE_FP_LOST, 0},
		{{0x14, 6, 2}, 3, RULE_FP_LOST, 0},
		{{0x15, 6, 2}, 3, RULE_FP_LOST, 0},
		{{0x16, 6, 1, 0x30}, 4, RULE_FP_LOST, 0},
		{{0x10, 6, 2, 0x76, 0x10}, 5, RULE_FP_AT_FP, 16},
		{{0x10, 6, 2, 0x77, 0x10}, 5, RULE_FP_AT_CFA, 8},
		{{0x10, 6, 2, 0x7c, 0x10}, 5, RULE_FP_LOST, 0},
		{{0x86, 0x81, 0x40}, 3, RULE_FP_LOST, 0}, /* -65544 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_int_equal(rule_of(EM_X86_64, forms[i].program, forms[i].n),
				 with_fp(RULE_BASE_SP, 8, (unsigned)forms[i].how, forms[i].offset));
}

static void test_expressions(void **state)
{
	struct rule plt = rule_unpack(plain(RULE_BASE_SP, 8));
	uint8_t sums[64],
		bytes[] = {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};

	(void)state;
	plt.kind = RULE_PLT;
	plt.extra = 11;
	assert_int_equal(rule_of(EM_X86_64, bytes, sizeof(bytes)), rule_pack(&plt));
	bytes[8] = 0x3a;
	plt.extra = 10;
	assert_int_equal(rule_of(EM_X86_64, bytes, sizeof(bytes)), rule_pack(&plt));
	bytes[7] = 0x21; /* or */
	assert_int_equal(rule_of(EM_X86_64, bytes, sizeof(bytes)), RULE_ODD);
	/* *(rbp - 16), *(rsp + 16) + 8, *(rsp + 16) - 8 and the long ways to say so. */
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 3, 0x76, 0x70, 0x06)),
			 deref(RULE_BASE_FP, -16, 0));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 5, 0x77, 16, 0x06, 0x23, 8)),
			 deref(RULE_BASE_SP, 16, 8));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 5, 0x77, 16, 0x06, 0x38, 0x22)),
			 deref(RULE_BASE_SP, 16, 8));
	assert_int_equal(rule_of(EM_X86_64,
				 PROGRAM(0x0f, 9, 0x92, 7, 8, 0x23, 8, 0x06, 0x09, 0xf8, 0x22)),
			 deref(RULE_BASE_SP, 16, -8));
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 7, 0x77, 16, 0x06, 0x0a, 8, 0, 0x1c)),
			 deref(RULE_BASE_SP, 16, -8));
	/* No more than a sum after all. */
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 4, 0x77, 16, 0x23, 8)),
			 plain(RULE_BASE_SP, 24));
	/* What is too long is not looked into. */
	memset(sums, 0, sizeof(sums));
	memcpy(sums, "\x0f\x21\x92\x07\x08", 5);
	for (size_t i = 5; i < sizeof(sums); i += 2)
		sums[i] = 0x23;
	assert_int_equal(rule_of(EM_X86_64, sums, 35), RULE_ODD);
	sums[1] = 0x1f;
	assert_int_equal(rule_of(EM_X86_64, sums, 33), plain(RULE_BASE_SP, 8));
	/* Twice dereferenced; another register; cut short; nothing. */
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 4, 0x77, 16, 6, 6)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 3, 0x80, 16, 6)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 4, 0x77, 16, 6, 0x23, 0)), RULE_ODD);
	assert_int_equal(rule_of(EM_X86_64, PROGRAM(0x0f, 0)), RULE_ODD);
}

static void test_counters(void **state)
{
	struct cfi_rows *rows = compile_one(EM_X86_64, PROGRAM(0x41, 0x0f, 1, 0x30, 0x41, 0x0c, 16,
							       8, 0x41, 0x0e, 12, 0x41));

	(void)state;
	assert_int_equal(rows->counters.expression, 1);
	assert_int_equal(rows->counters.unfit, 2);
	assert_int_equal(rows->counters.rows, 5);
	/* Three odd rows in a row are one. */
	assert_int_equal(rows->n_rows, 3);
	cfi_rows_free(rows);
}

static void test_states(void **state)
{
	uint8_t deep[64] = {0};
	struct cfi_rows *rows;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 16; i++) {
		deep[n++] = 0x0a;
		deep[n++] = 0x0e;
		deep[n++] = (uint8_t)(8 * (15 - i));
	}
	deep[n++] = 0x0b;
	assert_int_equal(rule_of(EM_X86_64, deep, n), plain(RULE_BASE_SP, 8));
	/* One more than there is room for; one that was not remembered. */
	deep[n - 1] = 0x0a;
	assert_int_equal(rule_of(EM_X86_64, deep, n - 1), plain(RULE_BASE_SP, 0));
	for (int i = 0; i < 2; i++) {
		struct section s;

		section_init(&s, EM_X86_64);
		put_usual_cie(&s);
		put_fde(&s, 0, 0x10, "", 0);
		put_fde(&s, 0x10, 0x10, i ? (const uint8_t *)"\x0e\x10\x41\x0b" : deep, i ? 4 : n);
		put_fde(&s, 0x20, 0x10, "", 0);
		assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
		assert_int_equal(rows->counters.malformed, 1);
		assert_int_equal(rows->counters.fdes, 2);
		assert_int_equal(rule_at(rows, 0x0f), plain(RULE_BASE_SP, 8));
		assert_int_equal(rule_at(rows, 0x10), RULE_WORD(RULE_UNKNOWN));
		assert_int_equal(rule_at(rows, 0x1f), RULE_WORD(RULE_UNKNOWN));
		assert_int_equal(rule_at(rows, 0x20), plain(RULE_BASE_SP, 8));
		cfi_rows_free(rows);
	}
}

/* glibc's restorer on x86-64: every register at an expression of rsp. */
static void test_signal_frame(void **state)
{
	static const uint8_t program[] = {0x0f, 4,    0x77, 0xa0, 0x01, 0x06, 0x10, 6,    3,
					  0x77, 0xf8, 0x00, 0x10, 16,   3,    0x77, 0xa8, 0x01};
	struct section s;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct cfi_rows *rows = NULL;
		uint8_t changed[sizeof(program)];

		memcpy(changed, program, sizeof(program));
		changed[10] ^= i == 1 ? 0x08 : 0;
		section_init(&s, EM_X86_64);
		put_cie(&s, i == 2 ? "" : "S", 16, "", 0);
		put_fde(&s, 0, 0x10, changed, sizeof(changed));
		assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
		assert_int_equal(rule_at(rows, 4), i ? RULE_ODD : RULE_SIGNAL);
		cfi_rows_free(rows);
	}
	/* aarch64's vdso before 5.8 */
	for (int i = 0; i < 2; i++) {
		struct cfi_rows *rows = NULL;

		section_init(&s, EM_AARCH64);
		put_cie(&s, i ? "" : "S", 30, "\x0c\x1d\x00\x9d\x00\x11\x1e\x7f", 8);
		put_fde(&s, 0, 0x10, "", 0);
		assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
		assert_int_equal(RULE_KIND(rule_at(rows, 4)), i ? RULE_CFA : RULE_SIGNAL);
		cfi_rows_free(rows);
	}
}

/* rbx is followed in an image with a CFA by rbx, and only there. */
static void test_rbx(void **state)
{
	static const uint8_t saves[] = {0x41, 0x0e, 16, 0x83, 2, 0x42, 0x07, 3};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct cfi_rows *rows = NULL;
		struct section s;

		section_init(&s, EM_X86_64);
		put_usual_cie(&s);
		put_fde(&s, 0, 0x10, saves, sizeof(saves));
		if (i)
			put_fde(&s, 0x10, 0x10, "\x0d\x03", 2);
		assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
		assert_int_equal(rows->counters.fdes, 1 + i);
		assert_int_equal(RULE_EXTRA(rule_at(rows, 0)), i ? RULE_BX_SAME : 0);
		assert_int_equal(RULE_EXTRA(rule_at(rows, 1)), i ? RULE_BX_SAME + 2 : 0);
		assert_int_equal(RULE_EXTRA(rule_at(rows, 3)), RULE_BX_LOST);
		cfi_rows_free(rows);
	}
}

static void test_aarch64(void **state)
{
	struct rule rule = {.kind = RULE_CFA, .base = RULE_BASE_SP, .ra_kind = RULE_RA_IN_LR};
	struct cfi_rows *rows;
	struct section s;

	(void)state;
	/* stp x29, x30, [sp, -32]!; mov x29, sp; with a signed return address */
	rows = compile_one(EM_AARCH64, PROGRAM(0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41,
					       0x0d, 29, 0x41, 0x0c, 30, 0));
	assert_int_equal(rule_at(rows, 0), rule_pack(&rule));
	assert_int_equal(rule_at(rows, 7), rule_pack(&rule));
	rule = (struct rule){
		.kind = RULE_CFA,
		.base = RULE_BASE_SP,
		.cfa_offset = 32,
		.fp_kind = RULE_FP_AT_CFA,
		.fp_offset = -32,
		.ra_offset = -24,
	};
	assert_int_equal(rule_at(rows, 8), rule_pack(&rule));
	rule.base = RULE_BASE_FP;
	assert_int_equal(rule_at(rows, 12), rule_pack(&rule));
	rule.base = RULE_BASE_LR;
	rule.cfa_offset = 0;
	assert_int_equal(rule_at(rows, 16), rule_pack(&rule));
	cfi_rows_free(rows);
	/* The return address in another register than the link register. */
	section_init(&s, EM_AARCH64);
	put_cie(&s, "B", 15, "\x0c\x1f\x00", 3);
	put_fde(&s, 0, 0x10, "", 0);
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	assert_int_equal(rule_at(rows, 4), RULE_ODD);
	cfi_rows_free(rows);
}

/* Gaps, code side by side, one over another, and past the segment; in no order. */
static void test_outcomes(void **state)
{
	struct cfi_limits limits = {.max_rows = 3, .max_rules = 3};
	struct cfi_rows *rows = NULL;
	struct cfi_input input;
	struct section s;

	(void)state;
	section_init(&s, EM_X86_64);
	assert_int_equal(section_compile(&s, &rows), CFI_E_NONE);
	put_usual_cie(&s);
	assert_int_equal(section_compile(&s, &rows), CFI_E_NONE);
	put_fde(&s, 0x100, 0x20, "\x41\x0e\x10", 3);
	input = section_input(&s);
	assert_int_equal(cfi_compile(&rows, &input, &limits), CFI_E_OK);
	assert_int_equal(rows->n_rows, 3);
	cfi_rows_free(rows);
	limits.max_rows = 2;
	assert_int_equal(cfi_compile(&rows, &input, &limits), CFI_E_TOO_BIG);
	limits = (struct cfi_limits){.max_rows = 3, .max_rules = 2};
	assert_int_equal(cfi_compile(&rows, &input, &limits), CFI_E_TOO_BIG);
	s.machine = EM_386;
	assert_int_equal(section_compile(&s, &rows), CFI_E_UNSUPPORTED);
	s.machine = EM_X86_64;
	s.segment.offset = UINT64_C(0xfffff000);
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	cfi_rows_free(rows);
	s.segment.offset = UINT64_C(0xffffff00);
	assert_int_equal(section_compile(&s, &rows), CFI_E_TOO_BIG);
	s.segment.offset = UINT64_MAX;
	assert_int_equal(section_compile(&s, &rows), CFI_E_TOO_BIG);
}

/* Whatever is cut off: what is left before it is still right. */
static void test_every_prefix(void **state)
{
	struct section s;

	(void)state;
	section_init(&s, EM_X86_64);
	put_usual_cie(&s);
	for (unsigned i = 0; i < 4; i++)
		put_fde(&s, 0x40 * i, 0x40, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x08\x0c\x07\x08",
			13);
	for (size_t n = 0; n <= s.frame.n; n++) {
		const struct cfi_limits limits = {.max_rows = 1000, .max_rules = 1000};
		struct cfi_input input = section_input(&s);
		struct cfi_rows *rows = NULL;
		uint8_t *copy = malloc(n ? n : 1);
		int r;

		assert_non_null(copy);
		memcpy(copy, s.frame.data, n);
		input.frame.data = copy;
		input.frame.length = n;
		r = cfi_compile(&rows, &input, &limits);
		assert_in_range(r, CFI_E_OK, CFI_E_NONE);
		if (r == CFI_E_OK)
			assert_int_equal(rule_at(rows, 0x4),
					 with_fp(RULE_BASE_FP, 16, RULE_FP_AT_CFA, -16));
		cfi_rows_free(rows);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prologue),      cmocka_unit_test(test_advances),
		cmocka_unit_test(test_set_loc),       cmocka_unit_test(test_advance_past_the_end),
		cmocka_unit_test(test_cfa),           cmocka_unit_test(test_return_address),
		cmocka_unit_test(test_frame_pointer), cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_counters),      cmocka_unit_test(test_states),
		cmocka_unit_test(test_signal_frame),  cmocka_unit_test(test_rbx),
		cmocka_unit_test(test_aarch64),       cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_every_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
