/* SPDX-License-Identifier: MIT */
/* The ends of walks, decided by registers alone, over code that is an array. */
#include "tests/unit/unwind/step_fixture.h"

#define START   (BASE + 4096) /* start_stack */
#define OWN     UINT64_C(0x8048000)
#define OWN_END UINT64_C(0x8049000)

struct unwind_code {
	uint64_t address; /* of bytes[] */
	uint8_t bytes[32];
	unsigned n_reads;
};

static inline bool unwind_read_code(struct unwind_code *code, uint64_t address, unwind_u64 *ret,
				    uint32_t n_bytes)
{
	uint64_t at = address - code->address;

	code->n_reads++;
	if (at >= sizeof(code->bytes) || sizeof(code->bytes) - at < n_bytes)
		return false;
	memcpy(ret, code->bytes + at, n_bytes);
	return true;
}

#include "common/unwind/ends.h"

#if defined(UNWIND_X86_64)
static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
static const unsigned second = 7; /* instruction */
#else
static const uint8_t restorer[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
static const unsigned second = 4;
#endif

static void test_ends_are_qualities_and_reasons(void **state)
{
	static const int ends[][3] = {
		{UNWIND_AT_ROOT, STACK_COMPLETE, 0},
		{UNWIND_LACKS_MEMORY, STACK_BROKEN, BROKEN_UNREADABLE},
		{UNWIND_BAD_POINTER(false), STACK_BROKEN, BROKEN_FRAME_POINTER},
		{UNWIND_BAD_POINTER(true), STACK_BROKEN, BROKEN_NO_TABLE},
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(UNWIND_END_QUALITY(ends[i][0]), ends[i][1]);
		assert_int_equal(UNWIND_END_REASON(ends[i][0]), ends[i][2]);
		assert_int_not_equal(ends[i][0], UNWIND_GOES_ON);
	}
}

static void test_restorer(void **state)
{
	struct unwind_code code = {.address = CODE};
	struct unwind_registers r = somewhere();

	(void)state;
	memcpy(code.bytes + 16, restorer, sizeof(restorer));
	for (unsigned i = 0; i < sizeof(code.bytes); i++) {
		r.pc = CODE + i;
		r.is_return = 0;
		assert_int_equal(unwind_is_restorer(&r, &code), i == 16 || i == 16 + second);
		r.is_return = 1;
		assert_int_equal(unwind_is_restorer(&r, &code), i == 16);
		/* In its system call: a leaf knows more. */
		r.known |= UNWIND_LEAF_KNOWS;
		assert_int_equal(unwind_is_restorer(&r, &code),
				 i == 16 || i == 16 + sizeof(restorer));
		r.known &= ~UNWIND_LEAF_KNOWS;
	}
	r.pc = CODE + 16;
	code.n_reads = 0;
	assert_true(unwind_is_restorer(&r, &code));
	assert_int_equal(code.n_reads, 1);
	r.compat = 1;
	assert_false(unwind_is_restorer(&r, &code));
	r.compat = 0;
	/* Each byte counts. */
	for (unsigned i = 0; i < sizeof(restorer); i++) {
		code.bytes[16 + i] ^= 0x80;
		assert_false(unwind_is_restorer(&r, &code));
		code.bytes[16 + i] ^= 0x80;
	}
	/* What cannot be read is none, nor is what is cut. */
	r.pc = 0;
	assert_false(unwind_is_restorer(&r, &code));
	memmove(code.bytes + sizeof(code.bytes) + 1 - sizeof(restorer), restorer,
		sizeof(restorer) - 1);
	r.pc = CODE + sizeof(code.bytes) + 1 - sizeof(restorer);
	assert_false(unwind_is_restorer(&r, &code));
}

static void test_start(void **state)
{
	struct unwind_registers r = somewhere();

	(void)state;
	r.fp = 0;
	for (r.sp = START - 72; r.sp <= START + 72; r.sp++)
		assert_int_equal(unwind_is_at_start(&r, START),
				 r.sp >= START - 64 && r.sp <= START + 64);
	/* A frame between the stack pointer and the start; other values are no frames. */
	r.sp = START - 32;
	for (r.fp = START - 40; r.fp <= START + 8; r.fp += 8)
		assert_int_equal(unwind_is_at_start(&r, START), r.fp < r.sp || r.fp >= START);
	r.fp = START - 8;
	assert_false(unwind_is_at_start(&r, START));
	r.known = 0;
	assert_true(unwind_is_at_start(&r, START));
	/* Not known where it is. */
	r.sp = 8;
	assert_false(unwind_is_at_start(&r, 0));
}

static int without_rule(const struct unwind_registers *r)
{
	return unwind_end_without_rule(r, START, OWN, OWN_END);
}

static void test_end_of_the_chain(void **state)
{
	const int unknown = UNWIND_END(STACK_BROKEN, BROKEN_UNKNOWN);
	struct unwind_registers r = somewhere();

	(void)state;
	assert_int_equal(without_rule(&r), UNWIND_GOES_ON);
	r.is_last = 1;
	assert_int_equal(without_rule(&r), UNWIND_AT_ROOT);
	r.compat = 1;
	assert_int_equal(without_rule(&r), unknown);
	/* The program's own code, by the address of the call. */
	r.is_return = 1;
	r.pc = OWN;
	assert_int_equal(without_rule(&r), unknown);
	r.pc = OWN + 1;
	assert_int_equal(without_rule(&r), UNWIND_AT_ROOT);
	r.pc = OWN_END;
	assert_int_equal(without_rule(&r), UNWIND_AT_ROOT);
	r.pc = OWN_END + 1;
	assert_int_equal(without_rule(&r), unknown);
	r.pc = 1;
	assert_int_equal(unwind_end_without_rule(&r, START, 0, 0), unknown);
	/* That nothing was called yet says more than where the code lies. */
	r.is_last = 0;
	assert_int_equal(without_rule(&r), UNWIND_GOES_ON);
	r.sp = START;
	assert_int_equal(without_rule(&r), UNWIND_AT_ROOT);
	assert_int_equal(unwind_end_without_rule(&r, 0, OWN, OWN_END), UNWIND_GOES_ON);
}

static void test_end_of_a_pointer(void **state)
{
	struct unwind_registers r = somewhere();

	(void)state;
	for (unsigned refused = 0; refused < 2; refused++) {
		const int bad = UNWIND_BAD_POINTER(refused);

		assert_int_equal(unwind_end_of_pointer(&r, UNWIND_STEP_IMPLAUSIBLE, refused), bad);
		r.fp = r.sp + UNWIND_STACK_SPAN - 8;
		assert_int_equal(unwind_end_of_pointer(&r, UNWIND_STEP_UNREADABLE, refused),
				 UNWIND_LACKS_MEMORY);
		assert_int_equal(unwind_end_of_pointer(&r, UNWIND_STEP_IMPLAUSIBLE, refused), bad);
		r.fp += 8;
		assert_int_equal(unwind_end_of_pointer(&r, UNWIND_STEP_UNREADABLE, refused), bad);
	}
}

static void test_end_of_a_rule(void **state)
{
	const uint64_t by_sp = word_of(&(struct rule){.kind = RULE_CFA, .cfa_offset = 8});
	const uint64_t by_fp = word_of(
		&(struct rule){.kind = RULE_CFA, .base = RULE_BASE_FP, .cfa_offset = 16});
	const int broken = UNWIND_END(STACK_BROKEN, BROKEN_RULE);
	struct unwind_registers r = somewhere();

	(void)state;
	assert_int_equal(unwind_end_of_rule(&r, RULE_WORD(RULE_ROOT), UNWIND_STEP_ROOT, START),
			 UNWIND_AT_ROOT);
	assert_int_equal(unwind_end_of_rule(&r, by_sp, UNWIND_STEP_UNREADABLE, START),
			 UNWIND_LACKS_MEMORY);
	/* Of another stack: what is there later is not what was. */
	assert_int_equal(unwind_end_of_rule(&r, RULE_WORD(RULE_GO) | RULE_GO_SAVED << 4,
					    UNWIND_STEP_UNREADABLE, START),
			 broken);
	assert_int_equal(unwind_end_of_rule(&r, RULE_WORD(RULE_GO) | RULE_GO_BY_FP << 4,
					    UNWIND_STEP_UNREADABLE, START),
			 UNWIND_LACKS_MEMORY);
	assert_int_equal(unwind_end_of_rule(&r, by_sp, UNWIND_STEP_ODD, START), broken);
	assert_int_equal(unwind_end_of_rule(&r, by_sp, UNWIND_STEP_IMPLAUSIBLE, START), broken);
	assert_int_equal(unwind_end_of_rule(&r, by_fp, UNWIND_STEP_ODD, START), broken);
	assert_int_equal(unwind_end_of_rule(&r, by_fp, UNWIND_STEP_IMPLAUSIBLE, START),
			 UNWIND_BAD_POINTER(false));
	/* Stack switches have other things where rules have their base. */
	assert_int_equal(unwind_end_of_rule(&r, RULE_WORD(RULE_GO) | RULE_GO_RESUMED << 4,
					    UNWIND_STEP_IMPLAUSIBLE, START),
			 broken);
	/* Rules of start-up code that do not know that it is; one that is odd says nothing. */
	r.sp = START;
	r.fp = 0;
	assert_int_equal(unwind_end_of_rule(&r, by_sp, UNWIND_STEP_IMPLAUSIBLE, START),
			 UNWIND_AT_ROOT);
	assert_int_equal(unwind_end_of_rule(&r, by_fp, UNWIND_STEP_IMPLAUSIBLE, START),
			 UNWIND_AT_ROOT);
	assert_int_equal(unwind_end_of_rule(&r, by_sp, UNWIND_STEP_ODD, START), broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ends_are_qualities_and_reasons, setup),
		cmocka_unit_test_setup(test_restorer, setup),
		cmocka_unit_test_setup(test_start, setup),
		cmocka_unit_test_setup(test_end_of_the_chain, setup),
		cmocka_unit_test_setup(test_end_of_a_pointer, setup),
		cmocka_unit_test_setup(test_end_of_a_rule, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
