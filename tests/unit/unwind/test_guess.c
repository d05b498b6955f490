/* SPDX-License-Identifier: MIT */
/* Guesses, over a stack and code that are arrays, of an image whose functions are calls alone. */
#include "tests/unit/unwind/step_fixture.h"

#if defined(UNWIND_X86_64)

/* The image. Its functions, by their offset: rules are up to the next one's beginning. */
#define IMAGE     UINT64_C(0x555500000000)
#define LENGTH    0x20000u
#define BY_SP     0x0000u /* CFA = sp + 16 */
#define BY_FP     0x2000u /* CFA = fp + 16 */
#define BY_FAR_FP 0x3000u /* CFA = fp + 32 */
#define ROOT      0x3800u
#define SIGNAL    0x4100u
#define ODD       0x4200u
#define ABSENT    0x5000u /* the table is not there yet */
#define GAP       0x6000u
#define FIRST     0x7000u  /* a function without rules, as are all behind it */
#define SECOND    0x10000u /* this is where the pc is */
#define PC        0x10020u
#define THIRD     0x11000u
#define STUBS     0x1f000u
#define SP        (BASE + 64)
#define FP        (BASE + 1600)
#define SLOT      7u

struct unwind_code {
	int none;
};

static inline bool unwind_read_code(struct unwind_code *unused, uint64_t address, unwind_u64 *ret,
				    uint32_t n_bytes)
{
	(void)unused;
	(void)address;
	(void)ret;
	(void)n_bytes;
	return false;
}

struct unwind_view {
	uint8_t code[LENGTH];
	unsigned n_reads;
};

static bool unwind_view_read(struct unwind_view *view, unwind_u64 address, unwind_u64 *ret)
{
	view->n_reads++;
	return unwind_read(&memory, address, ret);
}

static bool unwind_view_read_code(struct unwind_view *view, unwind_u64 address, unwind_u64 *ret,
				  uint32_t n_bytes)
{
	if (address - IMAGE > LENGTH - n_bytes)
		return false;
	memcpy(ret, view->code + (address - IMAGE), n_bytes);
	return true;
}

struct unwind_place;
static bool unwind_view_find(struct unwind_view *v, unwind_u64 address, struct unwind_place *ret);
static unwind_u64 unwind_view_rule(struct unwind_view *v, const struct unwind_place *place);

#include "common/unwind/guess.h"

static struct unwind_view view;

static bool unwind_view_find(struct unwind_view *v, unwind_u64 address, struct unwind_place *ret)
{
	(void)v;
	*ret = (struct unwind_place){.offset = address - IMAGE, .image = 1, .slot = SLOT};
	return ret->offset < LENGTH;
}

static unwind_u64 unwind_view_rule(struct unwind_view *v, const struct unwind_place *place)
{
	static const struct rule by_sp = {.kind = RULE_CFA, .cfa_offset = 16, .ra_offset = -8},
				 by_fp = {.kind = RULE_CFA,
					  .base = RULE_BASE_FP,
					  .cfa_offset = 16,
					  .ra_offset = -8},
				 by_far_fp = {.kind = RULE_CFA,
					      .base = RULE_BASE_FP,
					      .cfa_offset = 32,
					      .ra_offset = -8};
	const uint64_t at = place->offset;

	(void)v;
	return at < BY_FP       ? rule_pack(&by_sp)
	       : at < BY_FAR_FP ? rule_pack(&by_fp)
	       : at < ROOT      ? rule_pack(&by_far_fp)
	       : at < SIGNAL    ? RULE_WORD(RULE_ROOT)
	       : at < ODD       ? RULE_WORD(RULE_SIGNAL)
	       : at < ABSENT    ? RULE_WORD(RULE_ODD)
	       : at < GAP       ? UNWIND_ABSENT
				: RULE_WORD(RULE_UNKNOWN);
}

static uint32_t done; /* work, by the walk before the guess, and with it */

static int setup_guess(void **state)
{
	done = 0;
	memset(&view, 0, sizeof(view));
	return setup(state);
}

/* Code that ends at @offset. Returns the address there. */
static uint64_t put_code(uint32_t offset, const void *bytes, uint32_t n)
{
	memcpy(view.code + offset - n, bytes, n);
	return IMAGE + offset;
}

/* What a call of @target, an offset, returns to: @offset. */
static uint64_t direct(uint32_t offset, uint32_t target)
{
	const uint32_t relative = target - offset;
	uint8_t bytes[5] = {0xe8};

	memcpy(bytes + 1, &relative, sizeof(relative));
	return put_code(offset, bytes, sizeof(bytes));
}

static uint64_t indirect(uint32_t offset)
{
	return put_code(offset, (const uint8_t[]){0xff, 0xd0}, 2);
}

/* A function that makes its frame pointer first. */
static void put_frame(uint32_t offset)
{
	put_code(offset + 4, (const uint8_t[]){0x55, 0x48, 0x89, 0xe5}, 4);
}

static struct unwind_registers in_gap(void)
{
	return (struct unwind_registers){
		.pc = IMAGE + PC, .sp = SP, .fp = FP, .known = UNWIND_KNOWN_FP};
}

/* Returns enum unwind_guessed. */
static int guess(struct unwind_registers *r)
{
	int result;

	struct unwind_guess found = {.work = done};

	if (!unwind_guess_begin(&found, r, 1))
		return -1;
	for (uint32_t i = 0; i < UNWIND_GUESS_STEPS; i++) {
		const uint64_t at = unwind_guess_address(r, i);

		if (at && unwind_guess_try(&view, &found, at))
			break;
	}
	result = unwind_guess_end(&view, &found, r);
	done = found.work;
	return result;
}

/* The caller is @caller, found at @at. */
static void assert_guess(uint64_t at, uint64_t caller)
{
	struct unwind_registers r = in_gap();

	done = 0;
	assert_int_equal(guess(&r), UNWIND_GUESSED_CALLER);
	assert_int_equal(r.pc, caller);
	assert_int_equal(r.sp, at + 8);
	assert_int_equal(r.is_return, 1);
	assert_int_equal(r.is_guessed, 1);
}

static void assert_no_guess(int expected)
{
	struct unwind_registers r = in_gap(), before = r;

	done = 0;
	assert_int_equal(guess(&r), expected);
	assert_memory_equal(&r, &before, sizeof(r));
}

static void test_the_return_address(void **state)
{
	const uint64_t caller = direct(ROOT + 0x100, SECOND);

	(void)state;
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	put(SP, caller);
	assert_guess(SP, caller);
	/* Behind what has been saved, and is none of it. */
	put(SP, 1);
	put(SP + 8, SP + 400);
	put(SP + 16, UINT64_MAX);
	put(SP + 24, IMAGE + BY_SP + 0x200);            /* no call */
	put(SP + 32, direct(BY_SP + 0x300, BY_SP));     /* of a function with rules */
	put(SP + 40, UINT64_C(0x7f0000001000));         /* no code */
	put(SP + 48, direct(BY_SP + 0x400, 0x7000000)); /* to nowhere */
	put(SP + 56, caller);
	assert_guess(SP + 56, caller);
	/* The caller's caller has to be where its rule says. */
	put(SP + 56, direct(BY_SP + 0x100, SECOND));
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	put(SP + 72, direct(BY_SP + 0x200, BY_SP));
	assert_guess(SP + 56, IMAGE + BY_SP + 0x100);
	put(SP + 72, 0);
	/* As far as that. */
	put(SP + 56, 0);
	put(SP + 8 * (UNWIND_GUESS_WORDS - 1), caller);
	assert_guess(SP + 8 * (UNWIND_GUESS_WORDS - 1), caller);
	put(SP + 8 * (UNWIND_GUESS_WORDS - 1), 0);
	put(SP + 8 * UNWIND_GUESS_WORDS, caller);
	assert_no_guess(UNWIND_GUESSED_NOTHING);
}

/* Of words that are left of earlier calls. */
static void test_the_function_that_begins_last(void **state)
{
	const uint64_t caller = direct(ROOT + 0x100, SECOND);

	(void)state;
	put(SP + 8, direct(ROOT + 0x200, FIRST + 0x6000));
	put(SP + 16, direct(ROOT + 0x300, THIRD));
	put(SP + 32, caller);
	put(SP + 40, direct(ROOT + 0x400, SECOND)); /* a call before this one */
	put(SP + 48, direct(ROOT + 0x500, FIRST + 0x8000));
	assert_guess(SP + 32, caller);
	/* Not much further, whatever was found. */
	put(SP + 32, 0);
	put(SP + 40, 0);
	put(SP + 48 + 8 * (UNWIND_GUESS_BEHIND + 2), caller);
	assert_guess(SP + 48, IMAGE + ROOT + 0x500);
}

static void test_functions_with_a_frame(void **state)
{
	const uint64_t caller = direct(ROOT + 0x100, SECOND);
	struct unwind_registers r = in_gap();

	(void)state;
	put_frame(SECOND);
	put(SP + 16, caller); /* of an earlier call */
	put(FP + 8, caller);
	assert_int_equal(guess(&r), UNWIND_GUESSED_POINTER);
	put(FP + 8, direct(BY_SP + 0x200, BY_FP));
	r = in_gap();
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	/* It is not there yet, or any more. */
	put(SP + 16, 0);
	put(SP, caller);
	assert_guess(SP, caller);
	put(SP, 0);
	put(SP + 8, caller);
	assert_guess(SP + 8, caller);
	/* Behind the mark of functions that pointers may lead to. */
	memset(view.code + SECOND, 0, 8);
	put_frame(SECOND + 4);
	put_code(SECOND + 4, (const uint8_t[]){0xf3, 0x0f, 0x1e, 0xfa}, 4);
	put(SP + 8, 0);
	put(SP + 16, caller);
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	/* Without one, the frame pointer is the caller's, or some number. */
	memset(view.code + SECOND, 0, 8);
	assert_guess(SP + 16, caller);
}

static void test_calls_by_register(void **state)
{
	const uint64_t caller = indirect(BY_SP + 0x100);

	(void)state;
	put(SP + 16, caller);
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	/* The caller's caller has to be where its rule says. */
	put(SP + 16 + 16, direct(BY_SP + 0x200, BY_SP));
	assert_guess(SP + 16, caller);
	put(SP + 16 + 16, IMAGE + SIGNAL + 1);
	assert_guess(SP + 16, caller);
	put(SP + 16 + 16, IMAGE + BY_SP + 0x300);
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	/* Where no rule says, that is all. */
	put(SP + 16, indirect(ROOT + 0x80));
	assert_guess(SP + 16, IMAGE + ROOT + 0x80);
	/* In code without a table only the frame pointer does. */
	put(SP + 16, indirect(ODD + 0x80));
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	put(FP + 8, indirect(ODD + 0x80));
	assert_no_guess(UNWIND_GUESSED_NOTHING); /* which the frame pointer is, then */
	put(FP + 8, 0);
	put(SP + 16, indirect(THIRD + 0x80));
	assert_guess(SP + 16, IMAGE + THIRD + 0x80);
	/* What surely leads here counts more. */
	put(SP + 64, direct(ROOT + 0x400, SECOND));
	assert_guess(SP + 64, IMAGE + ROOT + 0x400);
}

static void test_frame_pointers_of_callers(void **state)
{
	const uint64_t caller = indirect(BY_FP + 0x100), next = direct(BY_SP + 0x200, BY_FP);
	struct unwind_registers r = in_gap();

	(void)state;
	put(SP + 64, caller);
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	put(FP + 8, next);
	assert_int_equal(guess(&r), UNWIND_GUESSED_CALLER);
	assert_int_equal(r.fp, FP);
	/* Saved, as the function needs the register. */
	put(SP + 24, SP + 800);
	put(SP + 808, next);
	r = in_gap();
	r.fp = 5;
	r.known = 0;
	assert_int_equal(guess(&r), UNWIND_GUESSED_CALLER);
	assert_int_equal(r.fp, SP + 800);
	assert_int_equal(r.known, UNWIND_KNOWN_FP);
	/* Not by another offset, and not below the stack pointer. */
	put(SP + 64, indirect(BY_FAR_FP + 0x100));
	r = in_gap();
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	put(SP + 64, 0);
	put(SP, caller);
	put(SP + 24, 0);
	put(SP - 8, SP + 800);
	r = in_gap();
	r.known = 0;
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	put(SP, 0);
	put(SP + 64, caller);
	/* Only below the return address. */
	put(SP + 24, 0);
	put(SP + 72, SP + 800);
	r = in_gap();
	r.fp = 5;
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
}

/* A call of something else without rules, which may go on here. */
static void test_jumps(void **state)
{
	const uint64_t caller = direct(BY_SP + 0x100, THIRD);

	(void)state;
	put(SP + 16, caller);
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	put(SP + 32, direct(BY_SP + 0x200, BY_SP));
	assert_guess(SP + 16, caller);
	put(SP + 16, direct(BY_SP + 0x100, GAP)); /* too far before */
	assert_guess(SP + 16, caller);
	put(SP + 16, direct(THIRD + 0x100, GAP));
	assert_no_guess(UNWIND_GUESSED_NOTHING);
}

static void test_stubs(void **state)
{
	static const struct {
		uint8_t bytes[16], n;
	} stubs[] = {
		{{0xff, 0x25}, 2},
		{{0xf2, 0xff, 0x25}, 3},
		{{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25}, 6},
		{{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25}, 7},
	};
	const uint64_t caller = direct(BY_SP + 0x100, STUBS);

	(void)state;
	put(SP + 16, caller);
	for (unsigned i = 0; i < 4; i++) {
		const uint64_t word = SP + 1000;
		const uint32_t end = STUBS + stubs[i].n + 4;
		const uint32_t relative = (uint32_t)(word - (IMAGE + end));

		/* Only words within two gigabytes can be reached: the stack is not. */
		memcpy(view.code + STUBS, stubs[i].bytes, stubs[i].n);
		memcpy(view.code + STUBS + stubs[i].n, &relative, sizeof(relative));
		assert_int_equal(unwind_stub_word(&view, &(struct unwind_guess){0}, IMAGE + STUBS),
				 IMAGE + end + (uint64_t)(int64_t)(int32_t)relative);
		/* The word cannot be read: it may lead here. */
		assert_no_guess(UNWIND_GUESSED_NOTHING);
		put(SP + 32, direct(BY_SP + 0x200, BY_SP));
		assert_guess(SP + 16, caller);
		put(SP + 32, 0);
	}
	memset(view.code + STUBS, 0x90, 16);
	assert_int_equal(unwind_stub_word(&view, &(struct unwind_guess){0}, IMAGE + STUBS), 0);
}

/* What words of memory lead to; here they are near the code. */
static void test_words_of_memory(void **state)
{
	static uint64_t table[2];
	const uint64_t at = IMAGE + LENGTH;
	const uint64_t caller = IMAGE + ROOT + 0x100;
	uint32_t relative = (uint32_t)(at + 8 - caller);
	uint8_t call[6] = {0xff, 0x15};

	(void)state;
	memcpy(call + 2, &relative, sizeof(relative));
	put_code(ROOT + 0x100, call, sizeof(call));
	memory.regions[1] = (struct unwind_region){at, sizeof(table), (const uint8_t *)table};
	memory.n_regions = 2;
	put(SP + 16, caller);
	table[1] = IMAGE + SECOND;
	assert_guess(SP + 16, caller);
	table[1] = IMAGE + BY_SP;
	assert_no_guess(UNWIND_GUESSED_NOTHING);
	/* The same through a stub. */
	relative = (uint32_t)(at - (IMAGE + STUBS + 6));
	memcpy(view.code + STUBS, (const uint8_t[]){0xff, 0x25}, 2);
	memcpy(view.code + STUBS + 2, &relative, sizeof(relative));
	direct(ROOT + 0x100, STUBS);
	table[0] = IMAGE + SECOND;
	assert_guess(SP + 16, caller);
	table[0] = IMAGE + BY_SP;
	assert_no_guess(UNWIND_GUESSED_NOTHING);
}

/* All forms of calls, and what is none. */
static void test_calls(void **state)
{
	static const struct {
		uint8_t bytes[8];
		bool is_call;
	} cases[] = {
		{{0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4}, true},
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true},  /* *%rax */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd7}, true},  /* *%r15 */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x10}, true},  /* *(%rax) */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0x24}, true},  /* *(%rsp) */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x18}, true},  /* *24(%rax) */
		{{0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x18}, true},  /* *24(%rsp) */
		{{0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4}, true},              /* *n(%rip) */
		{{0x90, 0x90, 0xff, 0x90, 1, 2, 3, 4}, true},              /* *n(%rax) */
		{{0x90, 0xff, 0x94, 0x24, 1, 2, 3, 4}, true},              /* *n(%rsp) */
		{{0x90, 0xff, 0x14, 0x25, 1, 2, 3, 4}, true},              /* *n */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, false}, /* jmp *%rax */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0, 0x90}, false}, /* one behind it */
		{{0x90, 0x90, 0xe8, 1, 2, 3, 4, 0x90}, false},
		{{0x90, 0x90, 0x90, 0xe9, 1, 2, 3, 4}, false}, /* jmp */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x10, 0x90}, false},
		{{0x90, 0x90, 0xff, 0x25, 1, 2, 3, 4}, false}, /* jmp *n(%rip) */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t code;

		memcpy(&code, cases[i].bytes, sizeof(code));
		if (unwind_is_call(code) != cases[i].is_call)
			fail_msg("case %u", i);
	}
}

/* A function that aligned its stack, far down, has the pointer of before in a register. */
static void test_registers_that_point_above(void **state)
{
	const uint64_t caller = direct(ROOT + 0x100, SECOND), far = SP + 9216;
	struct unwind_registers r = in_gap();

	(void)state;
	put(far + 8 * 12, caller);
	memory.regions[0].address += 8192; /* the room in between was never touched */
	memory.regions[0].length -= 8192;
	memory.regions[0].data += 8192;
	r.others[RULE_BASE_BX - RULE_BASE_OTHER] = far;
	r.known |= UNWIND_KNOWN(RULE_BASE_BX);
	assert_int_equal(guess(&r), UNWIND_GUESSED_CALLER);
	assert_int_equal(r.sp, far + 8 * 13);
	/* A caller's registers are others. */
	r = in_gap();
	r.others[RULE_BASE_BX - RULE_BASE_OTHER] = far;
	r.known |= UNWIND_KNOWN(RULE_BASE_BX);
	r.is_return = 1;
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	/* So are those that point nowhere near. */
	r = in_gap();
	r.others[RULE_BASE_BX - RULE_BASE_OTHER] = far + 4;
	r.known |= UNWIND_KNOWN(RULE_BASE_BX);
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	r.others[RULE_BASE_BX - RULE_BASE_OTHER] = SP - 8;
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
}

/* Where the frame pointer is not known, a frame may be anywhere. */
static void test_a_frame_that_is_not_known(void **state)
{
	const uint64_t caller = direct(ROOT + 0x100, SECOND);
	struct unwind_registers r = in_gap();

	(void)state;
	put_frame(SECOND);
	put(SP + 24, caller);
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	r = in_gap();
	r.known = 0;
	assert_int_equal(guess(&r), UNWIND_GUESSED_CALLER);
	assert_int_equal(r.pc, caller);
}

/* A helper without a frame, which the function with the frame calls by a register. */
static void test_a_frame_that_is_another_s(void **state)
{
	struct unwind_registers r = in_gap();

	(void)state;
	put_frame(SECOND);
	put(SP, indirect(SECOND + 0x1f0));
	put(FP + 8, direct(ROOT + 0x100, SECOND));
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	/* Nothing is between it and its frame pointer, and nothing behind that is looked at. */
	put(SP, 0);
	put(FP + 8, 0);
	put(SP + 72, IMAGE + ROOT + 0x100);
	r = in_gap();
	r.fp = SP + 64;
	view.n_reads = 0;
	assert_int_equal(guess(&r), UNWIND_GUESSED_POINTER);
	assert_in_range(view.n_reads, 10, 20);
}

/* What a callee may change is known in callers as it was in the leaf, and nothing else. */
static void test_registers_of_the_caller(void **state)
{
	struct unwind_registers r = in_gap();

	(void)state;
	put(SP, direct(ROOT + 0x100, SECOND));
	r.known |= UNWIND_KNOWN(RULE_BASE_DI) | UNWIND_KNOWN(RULE_BASE_BX) |
		   UNWIND_KNOWN(RULE_BASE_R12);
	assert_int_equal(guess(&r), UNWIND_GUESSED_CALLER);
	assert_int_equal(r.known, UNWIND_KNOWN_FP | UNWIND_KNOWN(RULE_BASE_DI));
}

/* A call through a word that cannot be read comes last, and ends no search. */
static void test_unread_words(void **state)
{
	(void)state;
	put_code(STUBS + 2, (const uint8_t[]){0xff, 0x25}, 2);
	put(SP + 8, direct(BY_SP + 0x100, STUBS));
	put(SP + 24, direct(BY_SP + 0x200, BY_SP));
	assert_guess(SP + 8, IMAGE + BY_SP + 0x100);
	put(SP + 32, indirect(ROOT + 0x80));
	assert_guess(SP + 32, IMAGE + ROOT + 0x80);
	put(SP + 32, 0);
	put(SP + 8 * (UNWIND_GUESS_BEHIND_MAY + 10), direct(ROOT + 0x200, SECOND));
	assert_guess(SP + 8 * (UNWIND_GUESS_BEHIND_MAY + 10), IMAGE + ROOT + 0x200);
}

/* One that leads here has as many words behind it as any, wherever the first was that may. */
static void test_words_behind(void **state)
{
	const uint64_t at = SP + 8 * (UNWIND_GUESS_BEHIND + 10);

	(void)state;
	put(SP, indirect(ROOT + 0x80));
	put(at, direct(ROOT + 0x200, FIRST + 0x8000));
	put(at + 16, direct(ROOT + 0x300, SECOND));
	assert_guess(at + 16, IMAGE + ROOT + 0x300);
}

/* The handler of a signal returns to what nothing calls, and behind that is another's stack. */
static void test_signals(void **state)
{
	struct unwind_registers r = in_gap();

	(void)state;
	put(SP + 8, direct(BY_SP + 0x100, BY_SP));
	put(SP + 16, IMAGE + SIGNAL + 1);
	put(SP + 24, direct(ROOT + 0x100, SECOND));
	assert_guess(SP + 24, IMAGE + ROOT + 0x100); /* no frame behind it */
	put(SP + 24 + UNWIND_SIGNAL_PC, IMAGE + BY_SP);
	assert_guess(SP + 16, IMAGE + SIGNAL + 1);
	/* It has a frame pointer. */
	r.fp = SP + 8;
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	/* Before it is what was called since. */
	put(SP, direct(ROOT + 0x80, SECOND));
	assert_guess(SP, IMAGE + ROOT + 0x80);
}

/* In the stub itself, where that has no rules. */
static void test_in_a_stub(void **state)
{
	static const uint64_t elsewhere = IMAGE + BY_SP;
	const uint64_t caller = direct(BY_SP + 0x100, STUBS);
	struct unwind_registers r = in_gap();

	(void)state;
	put_code(STUBS + 6, (const uint8_t[]){0xff, 0x25, 0xfa, 0x0f, 0, 0}, 6);
	memory.regions[1] = (struct unwind_region){IMAGE + LENGTH, sizeof(elsewhere),
						   (const uint8_t *)&elsewhere};
	memory.n_regions = 2;
	put(SP, caller);
	put(SP + 16, direct(BY_SP + 0x200, BY_SP));
	r.pc = IMAGE + STUBS + 11;
	assert_int_equal(guess(&r), UNWIND_GUESSED_CALLER);
	assert_int_equal(r.pc, caller);
	r = in_gap();
	r.pc = IMAGE + STUBS + 16;
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	r = in_gap();
	r.pc = IMAGE + STUBS + 16;
	memory.n_regions = 1; /* where it leads cannot be read: it may be here */
	assert_int_equal(guess(&r), UNWIND_GUESSED_CALLER);
	put(SP + 16, 0);
	r = in_gap();
	r.pc = IMAGE + STUBS + 16;
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
}

static void test_an_absent_table(void **state)
{
	struct unwind_registers r = in_gap(), before = r;
	struct unwind_guess found = {0};

	(void)state;
	put(SP + 8, indirect(ABSENT + 0x100));
	put(SP + 16, indirect(THIRD + 0x100));
	assert_no_guess(UNWIND_GUESSED_TABLE);
	put(SP, indirect(THIRD + 0x200));
	assert_guess(SP, IMAGE + THIRD + 0x200);
	put(SP, 0);
	put(SP + 24, direct(ROOT + 0x100, SECOND));
	assert_guess(SP + 24, IMAGE + ROOT + 0x100);
	put(SP + 24, 0);
	assert_true(unwind_guess_begin(&found, &r, 1));
	unwind_guess_try(&view, &found, SP + 8);
	assert_int_equal(found.absent, SLOT);
	assert_memory_equal(&r, &before, sizeof(r));
	/* What surely leads here needs none. */
	put(SP + 8, direct(ABSENT + 0x100, SECOND));
	assert_guess(SP + 8, IMAGE + ABSENT + 0x100);
}

/* All words are as much work as can be; a walk goes on with what the last guess left. */
static void test_the_work_is_bounded(void **state)
{
	struct unwind_registers r;
	unsigned n = 0;

	(void)state;
	indirect(BY_SP + 0x100);
	for (uint64_t at = SP; at < TOP; at += 8)
		put(at, IMAGE + BY_SP + 0x104); /* code, and no call before it */
	done = 0;
	do {
		r = in_gap();
		n++;
	} while (guess(&r) == UNWIND_GUESSED_NOTHING && n < 1000);
	assert_in_range(n, 1, 2);
	assert_in_range(done, UNWIND_GUESS_WORK + 1, UNWIND_GUESS_WORK + 100 * UNWIND_GUESS_FIND);
	r = in_gap();
	assert_int_equal(guess(&r), UNWIND_GUESSED_ENOUGH);
	assert_int_equal(r.pc, IMAGE + PC);
	/* What each of them says of its caller is as much work, too. */
	indirect(BY_FP + 0x100);
	for (uint64_t at = SP; at < SP + 8192; at += 16) {
		put(at, IMAGE + BY_FP + 0x100);
		put(at + 8, TOP - 64); /* a frame pointer, and no return address */
	}
	put(TOP - 56, 0);
	done = 0;
	view.n_reads = 0;
	r = in_gap();
	r.fp = TOP - 64;
	assert_int_equal(guess(&r), UNWIND_GUESSED_ENOUGH);
	assert_in_range(view.n_reads, 100, 4 * UNWIND_GUESS_WORK / UNWIND_GUESS_FIND);
}

static void test_where_nothing_is_guessed(void **state)
{
	struct unwind_guess found;
	struct unwind_registers r = in_gap();

	(void)state;
	assert_false(unwind_guess_begin(&found, &r, 0));
	r.compat = 1;
	assert_false(unwind_guess_begin(&found, &r, 1));
	r = in_gap();
	r.has_pointers = 1;
	assert_false(unwind_guess_begin(&found, &r, 1));
	r = in_gap();
	r.sp++;
	assert_false(unwind_guess_begin(&found, &r, 1));
	/* Where a page cannot be read, the rest of it is left alone. */
	memory.n_regions = 0;
	r = in_gap();
	r.others[RULE_BASE_BX - RULE_BASE_OTHER] = SP + 16384;
	r.known |= UNWIND_KNOWN(RULE_BASE_BX);
	view.n_reads = 0;
	assert_int_equal(guess(&r), UNWIND_GUESSED_NOTHING);
	assert_int_equal(view.n_reads, 5); /* three pages, the register's and the frame pointer's */
}
#else
static void test_none(void **state)
{
	(void)state;
	(void)somewhere();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(UNWIND_X86_64)
		cmocka_unit_test_setup(test_the_return_address, setup_guess),
		cmocka_unit_test_setup(test_the_function_that_begins_last, setup_guess),
		cmocka_unit_test_setup(test_functions_with_a_frame, setup_guess),
		cmocka_unit_test_setup(test_calls_by_register, setup_guess),
		cmocka_unit_test_setup(test_frame_pointers_of_callers, setup_guess),
		cmocka_unit_test_setup(test_jumps, setup_guess),
		cmocka_unit_test_setup(test_stubs, setup_guess),
		cmocka_unit_test_setup(test_words_of_memory, setup_guess),
		cmocka_unit_test_setup(test_calls, setup_guess),
		cmocka_unit_test_setup(test_registers_that_point_above, setup_guess),
		cmocka_unit_test_setup(test_a_frame_that_is_not_known, setup_guess),
		cmocka_unit_test_setup(test_a_frame_that_is_another_s, setup_guess),
		cmocka_unit_test_setup(test_registers_of_the_caller, setup_guess),
		cmocka_unit_test_setup(test_unread_words, setup_guess),
		cmocka_unit_test_setup(test_words_behind, setup_guess),
		cmocka_unit_test_setup(test_signals, setup_guess),
		cmocka_unit_test_setup(test_in_a_stub, setup_guess),
		cmocka_unit_test_setup(test_an_absent_table, setup_guess),
		cmocka_unit_test_setup(test_the_work_is_bounded, setup_guess),
		cmocka_unit_test_setup(test_where_nothing_is_guessed, setup_guess),
#else
		cmocka_unit_test_setup(test_none, setup),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
