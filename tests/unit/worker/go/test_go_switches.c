/* SPDX-License-Identifier: MIT */
/*
 * Functions that go to another stack: of instructions like those of Go's runtime, with fields at
 * places where no release has them.
 */
#include "tests/support/rule_unpack.h"
#include "tests/unit/worker/go/go_frames_fixture.h"

#define PITCH 0x80u

/* mov %fs:-16,%rax; mov 0x28(%rax),%rbx; mov 0x98(%rbx),%rax; mov 0x40(%rax),%rsp */
#define LOAD_G     0x64, 0x48, 0x8b, 0x04, 0x25, 0xf0, 0xff, 0xff, 0xff
#define LOAD_M     0x48, 0x8b, 0x58, 0x28
#define LOAD_CURG  0x48, 0x8b, 0x83, 0x98, 0, 0, 0
#define LOAD_SP    0x48, 0x8b, 0x60, 0x40
#define LOAD_FP    0x48, 0x8b, 0x68, 0x58 /* mov 0x58(%rax),%rbp */
#define LOAD_G0_SP 0x48, 0x8b, 0x62, 0x40 /* mov 0x40(%rdx),%rsp */
#define CALL       0xff, 0xd7             /* call *%rdi */
#define RET        0xc3
#define PUSH_FP    0x55, 0x48, 0x89, 0xe5 /* push %rbp; mov %rsp,%rbp */
#define POP_FP     0x5d

static const uint8_t systemstack[] = {LOAD_G0_SP, CALL,    LOAD_G,  LOAD_M,
				      LOAD_CURG,  LOAD_SP, LOAD_FP, RET};
/* Position-independent: mov $-16,%rcx; mov %fs:(%rcx),%rax. It restores no frame pointer. */
static const uint8_t older[] = {LOAD_G0_SP, CALL,   0x48,      0xc7,    0xc1, 0xf0,
				0xff,       0xff,   0xff,      0x64,    0x48, 0x8b,
				0x01,       LOAD_M, LOAD_CURG, LOAD_SP, RET};
/* Once more, with m elsewhere. */
static const uint8_t contradicting[] = {LOAD_G0_SP, CALL, LOAD_G, LOAD_M,    LOAD_G,  0x48,
					0x8b,       0x58, 0x30,   LOAD_CURG, LOAD_SP, RET};
/* mov %rbp,0x58(%rdi), the stack pointer of g0, call */
static const uint8_t morestack[] = {0x48, 0x89, 0x6f, 0x58, LOAD_G0_SP, CALL, RET};
static const uint8_t asmcgocall[] = {
	0x48,       0x89, 0xe2,                         /* mov %rsp,%rdx */
	LOAD_G0_SP,                                     /* 3 */
	0x48,       0x83, 0xec, 0x10,                   /* 7: sub $16,%rsp */
	0x48,       0x89, 0x7c, 0x24, 0x08,             /* 11: mov %rdi,8(%rsp) */
	0x48,       0x89, 0x3c, 0x24,                   /* 16: mov %rdi,(%rsp) */
	CALL,                                           /* 20 */
	0x48,       0x89, 0xf4,                         /* 22: mov %rsi,%rsp */
	RET,                                            /* 25 */
	0x48,       0x89, 0xe2,                         /* 26: mov %rsp,%rdx */
	0x48,       0x83, 0xec, 0x10,                   /* 29 */
	0x48,       0xc7, 0x44, 0x24, 0x08, 0, 0, 0, 0, /* 33: movq $0,8(%rsp) */
	0x48,       0x89, 0x14, 0x24,                   /* 42: mov %rdx,(%rsp) */
	CALL,                                           /* 46 */
	0x48,       0x89, 0xf4,                         /* 48 */
	RET,                                            /* 51 */
};
/* mov %rdi,%rsp; call; mov 0x40(%rdx),%rsp; ret */
static const uint8_t cgocallback[] = {0x48, 0x89, 0xfc, CALL, LOAD_G0_SP, RET};
/* mov %rbp,0x28(%rsp); call; ret */
static const uint8_t crosscall[] = {0x48, 0x89, 0x6c, 0x24, 0x28, CALL, RET};
static const uint8_t leaves[] = {0x90, LOAD_G0_SP, CALL, RET};
/* With a frame; what is behind ret is jumped to from within. */
static const uint8_t vdso[] = {PUSH_FP, 0x48,   0x83, 0xec, 0x10, 0x48, 0x83, 0xe4,
			       0xf0,    CALL,   0x4c, 0x89, 0xe4, 0x48, 0x83, 0xc4,
			       0x10,    POP_FP, RET,  0x0f, 0x05, RET};

/* racecall: mov %rsp,%r12; mov g0's,%rsp; and $-16,%rsp; call; mov %r12,%rsp; ret; from within. */
static const uint8_t racecall[] = {0x49, 0x89, 0xe4, LOAD_G0_SP, 0x48, 0x83, 0xe4,
				   0xf0, CALL, 0x4c, 0x89,       0xe4, RET,  0x90};
/* sub $16,%rsp; nop; what is no instruction; ret */
static const uint8_t undecodable[] = {0x48, 0x83, 0xec, 0x10, 0x90, 0x06, RET};

/* Depth 0 for 64 bytes; and as `vdso` has it: 0, 8, 24, 8, 0, 24. */
static const uint8_t flat[] = {2, 64, 0};
static const uint8_t eight[] = {18, 64, 0};
static const uint8_t saved_at_40[] = {98, 64, 0};
static const uint8_t framed[] = {2, 1, 16, 7, 32, 13, 31, 1, 15, 1, 48, 16, 0};

struct function {
	const char *name;
	const uint8_t *code;
	size_t length;
	struct pclntab_frame frame;
};

#define FUNCTION(name, code, flags, steps)          \
	{                                           \
		name, code, sizeof(code),           \
		{                                   \
			flags, steps, sizeof(steps) \
		}                                   \
	}

static const struct function all[] = {
	FUNCTION("runtime.systemstack", systemstack, PCLNTAB_SP_WRITE, flat),
	FUNCTION("runtime.morestack", morestack, PCLNTAB_SP_WRITE, flat),
	FUNCTION("runtime.asmcgocall", asmcgocall, PCLNTAB_SP_WRITE, eight),
	FUNCTION("runtime.cgocallback", cgocallback, 0, saved_at_40),
	FUNCTION("crosscall2", crosscall, 0, saved_at_40),
	FUNCTION("gogo", leaves, PCLNTAB_SP_WRITE, flat),
	FUNCTION("runtime.nanotime1", vdso, PCLNTAB_SP_WRITE, framed),
	FUNCTION("main.main", leaves, 0, flat),
	FUNCTION("racecall", racecall, PCLNTAB_SP_WRITE, flat),
	FUNCTION("main.odd", undecodable, PCLNTAB_SP_WRITE, flat),
	FUNCTION("runtime.gogo", undecodable, 0, flat),
};
enum {
	SYSTEMSTACK,
	MORESTACK,
	ASMCGOCALL,
	CGOCALLBACK,
	CROSSCALL,
	GOGO,
	VDSO,
	ORDINARY,
	RACECALL,
	UNDECODABLE,
	JUMPS_TO_GOGO,
};

static size_t read_text(void *userdata, uint64_t address, uint8_t *ret, size_t size)
{
	const struct function *functions = userdata;
	const struct function *f = &functions[(address - AT) / PITCH];

	if (size > f->length)
		size = f->length;
	memcpy(ret, f->code, size);
	return size;
}

/* The rules of @functions, PITCH apart. */
static void make(const struct function *functions, size_t n, struct eh_frame *ret)
{
	const struct go_text text = {.read = read_text, .userdata = (void *)(uintptr_t)functions};
	static struct cfi_own_rule *rules; /* until the next call */
	uint64_t starts[ARRAY_SIZE(all)];
	const char *names[ARRAY_SIZE(all)];
	struct pclntab_frame frames[ARRAY_SIZE(all)];
	struct pclntab_spec spec;
	struct pclntab_bytes bytes;
	struct pclntab table;
	size_t length;

	for (size_t i = 0; i < n; i++) {
		starts[i] = AT + PITCH * i;
		names[i] = functions[i].name;
		frames[i] = functions[i].frame;
	}
	spec = spec_of(starts, names, frames, n);
	pclntab_make(&spec, &bytes);
	assert_true(pclntab_parse(bytes.data, bytes.length, &table));
	free(rules);
	assert_int_equal(go_frames_make(&table, &text, &rules, &length), 0);
	assert_non_null(rules);
	read_behind(rules, length, NULL, 0, ret);
}

static uint64_t at(const struct eh_frame *frame, size_t function, uint64_t offset)
{
	return rule_at(frame, AT + PITCH * function + offset);
}

static uint64_t go(unsigned place, unsigned depth)
{
	return rule_go_pack(&(struct rule_go){.place = place,
					      .cfa_offset = depth + 8,
					      .saves_fp = depth > 0,
					      .g_m = 0x28,
					      .m_curg = 0x98,
					      .sched_sp = 0x40,
					      .sched_fp = 0x58,
					      .g = -16});
}

static void check_systemstack(const struct eh_frame *frame)
{
	assert_true(at(frame, SYSTEMSTACK, 0) == cfa_rule(0));
	assert_true(at(frame, SYSTEMSTACK, 4) == go(RULE_GO_SAVED, 0));
	assert_true(at(frame, SYSTEMSTACK, 5) == go(RULE_GO_SAVED, 0));
}

static void test_systemstack(void **state)
{
	struct eh_frame frame;
	struct function changed[2] = {all[SYSTEMSTACK], all[MORESTACK]};

	(void)state;
	make(changed, 2, &frame);
	check_systemstack(&frame);
	/* Behind the call, up to where it is back. */
	assert_true(at(&frame, SYSTEMSTACK, 29) == go(RULE_GO_SAVED, 0));
	assert_true(at(&frame, SYSTEMSTACK, 30) == cfa_rule(0));
	assert_true(at(&frame, MORESTACK, 7) == cfa_rule(0));
	assert_true(at(&frame, MORESTACK, 8) == go(RULE_GO_RESUMED, 0));
	eh_frame_deinit(&frame);
	changed[0].code = older;
	changed[0].length = sizeof(older);
	make(changed, 2, &frame);
	check_systemstack(&frame);
	eh_frame_deinit(&frame);
}

/* What cannot be learned is no rule that could be followed, and no frame pointer either. */
static void test_unknown_runtime(void **state)
{
	struct function changed[2] = {all[SYSTEMSTACK], all[MORESTACK]};
	struct eh_frame frame;

	(void)state;
	changed[0].code = contradicting;
	changed[0].length = sizeof(contradicting);
	make(changed, 2, &frame);
	assert_true(at(&frame, SYSTEMSTACK, 0) == cfa_rule(0));
	assert_true(at(&frame, SYSTEMSTACK, 4) == RULE_WORD(RULE_ODD));
	assert_true(at(&frame, MORESTACK, 8) == RULE_WORD(RULE_ODD));
	eh_frame_deinit(&frame);
	/* Nothing to learn from, and a function whose switches are others. */
	changed[0].code = leaves;
	changed[0].length = sizeof(leaves);
	make(changed, 2, &frame);
	assert_true(at(&frame, SYSTEMSTACK, 0) == RULE_WORD(RULE_UNKNOWN));
	eh_frame_deinit(&frame);
}

static void test_calls_of_c(void **state)
{
	const struct rule_go called = {.place = RULE_GO_CALLED_C,
				       .cfa_offset = 16,
				       .saves_fp = 1,
				       .g_m = 8,
				       .sched_sp = 0};
	const struct rule kept = {.kind = RULE_DEREF,
				  .base = RULE_BASE_SP,
				  .extra = 16,
				  .ra_offset = -8,
				  .fp_kind = RULE_FP_AT_CFA,
				  .fp_offset = -16};
	const struct rule in_dx = {.kind = RULE_CFA,
				   .base = RULE_BASE_DX,
				   .cfa_offset = 16,
				   .ra_offset = -8,
				   .fp_kind = RULE_FP_AT_CFA,
				   .fp_offset = -16};
	struct eh_frame frame;

	(void)state;
	make(all, ARRAY_SIZE(all), &frame);
	assert_true(at(&frame, ASMCGOCALL, 3) == cfa_rule(8));
	assert_true(at(&frame, ASMCGOCALL, 7) == go(RULE_GO_SAVED, 8));
	assert_true(at(&frame, ASMCGOCALL, 16) == go(RULE_GO_SAVED, 8));
	assert_true(at(&frame, ASMCGOCALL, 20) == rule_go_pack(&called));
	assert_true(at(&frame, ASMCGOCALL, 24) == rule_go_pack(&called));
	assert_true(at(&frame, ASMCGOCALL, 25) == cfa_rule(8));
	assert_true(at(&frame, ASMCGOCALL, 32) == cfa_rule(8));
	assert_true(at(&frame, ASMCGOCALL, 33) == rule_pack(&in_dx));
	assert_true(at(&frame, ASMCGOCALL, 45) == rule_pack(&in_dx));
	assert_true(at(&frame, ASMCGOCALL, 46) == rule_pack(&kept));
	assert_true(at(&frame, ASMCGOCALL, 51) == cfa_rule(8));
	eh_frame_deinit(&frame);
}

static void test_calls_from_c(void **state)
{
	struct rule saved = rule_unpack(cfa_rule(48));
	struct eh_frame frame;

	(void)state;
	saved.fp_offset = 40 - 48 - 8;
	make(all, ARRAY_SIZE(all), &frame);
	/* No base is rbx here, so that it is not followed. */
	assert_true(at(&frame, ORDINARY, 1) == cfa_rule(0));
	assert_true(at(&frame, CGOCALLBACK, 2) == cfa_rule(48));
	assert_true(at(&frame, CGOCALLBACK, 3) == go(RULE_GO_CALLED_BACK, 48));
	assert_true(at(&frame, CGOCALLBACK, 8) == go(RULE_GO_CALLED_BACK, 48));
	assert_true(at(&frame, CGOCALLBACK, 9) == cfa_rule(48));
	assert_true(at(&frame, CROSSCALL, 5) == rule_pack(&saved));
	saved.fp_kind = RULE_FP_SAME;
	saved.fp_offset = 0;
	assert_true(at(&frame, CROSSCALL, 4) == rule_pack(&saved));
	eh_frame_deinit(&frame);
}

static void test_others(void **state)
{
	const struct rule_go by_fp = {.place = RULE_GO_BY_FP, .cfa_offset = 16, .saves_fp = 1};
	struct eh_frame frame;

	(void)state;
	make(all, ARRAY_SIZE(all), &frame);
	assert_true(at(&frame, GOGO, 4) == cfa_rule(0));
	assert_true(at(&frame, GOGO, 5) == RULE_WORD(RULE_ROOT));
	assert_true(at(&frame, VDSO, 0) == cfa_rule(0));
	assert_true(at(&frame, VDSO, 1) == cfa_rule(8));
	assert_true(at(&frame, VDSO, 4) == rule_go_pack(&by_fp));
	assert_true(at(&frame, VDSO, 20) == rule_go_pack(&by_fp));
	assert_true(at(&frame, VDSO, 22) == cfa_rule(0));
	assert_true(at(&frame, VDSO, 23) == rule_go_pack(&by_fp));
	eh_frame_deinit(&frame);
}

/* While the stack pointer is another one's there is the frame pointer, and no rule. */
static void test_moved(void **state)
{
	struct eh_frame frame;

	(void)state;
	make(all, ARRAY_SIZE(all), &frame);
	assert_true(at(&frame, RACECALL, 3) == cfa_rule(0));
	assert_true(at(&frame, RACECALL, 6) == cfa_rule(0));
	assert_true(at(&frame, RACECALL, 7) == RULE_WORD(RULE_UNKNOWN));
	assert_true(at(&frame, RACECALL, 13) == RULE_WORD(RULE_UNKNOWN));
	assert_true(at(&frame, RACECALL, 15) == RULE_WORD(RULE_UNKNOWN));
	assert_true(at(&frame, RACECALL, 16) == cfa_rule(0));
	assert_true(at(&frame, RACECALL, 17) == RULE_WORD(RULE_UNKNOWN));
	/* Rules end with what is understood. */
	assert_true(at(&frame, UNDECODABLE, 0) == cfa_rule(0));
	assert_true(at(&frame, UNDECODABLE, 4) == RULE_WORD(RULE_UNKNOWN));
	assert_true(at(&frame, UNDECODABLE, 5) == RULE_WORD(RULE_UNKNOWN));
	assert_true(at(&frame, UNDECODABLE, 6) == RULE_WORD(RULE_UNKNOWN));
	assert_true(at(&frame, JUMPS_TO_GOGO, 3) == cfa_rule(0));
	assert_true(at(&frame, JUMPS_TO_GOGO, 5) == RULE_WORD(RULE_UNKNOWN));
	eh_frame_deinit(&frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_systemstack), cmocka_unit_test(test_unknown_runtime),
		cmocka_unit_test(test_calls_of_c),  cmocka_unit_test(test_calls_from_c),
		cmocka_unit_test(test_others),      cmocka_unit_test(test_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
