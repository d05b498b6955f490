/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_UNWIND_STEP_FIXTURE_H
#define TESTS_UNIT_UNWIND_STEP_FIXTURE_H

/* A stack that is an array, and the registers of a function in the middle of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/unwind/step.h"

#define BASE  UINT64_C(0x7ffd00001000)
#define WORDS 2048u
#define TOP   (BASE + WORDS * 8)
#define CODE  UINT64_C(0x555500001234)

static _Alignas(16) uint64_t stack[WORDS]; /* a ucontext_t fits, wherever one begins */
static struct unwind_memory memory;

static inline int setup(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	memory = (struct unwind_memory){
		.regions = {{BASE, sizeof(stack), (const uint8_t *)stack}},
		.n_regions = 1,
	};
	return 0;
}

static inline void put(uint64_t address, uint64_t word)
{
	assert_true(address >= BASE && address + 8 <= TOP);
	memcpy((uint8_t *)stack + (address - BASE), &word, sizeof(word));
}

static inline uint64_t word_of(const struct rule *rule)
{
	uint64_t word = rule_pack(rule);

	assert_int_equal(RULE_KIND(word), rule->kind);
	return word;
}

/* A function in the middle of the stack. */
static inline struct unwind_registers somewhere(void)
{
	return (struct unwind_registers){
		.pc = CODE,
		.sp = BASE + 256,
		.fp = BASE + 512,
		.others = {0xa0, 0xb0, 0xc0, 0xd0},
		.known = UNWIND_KNOWN_FP,
	};
}

/* The step is refused with @expected and leaves the registers alone. */
static inline void assert_refused(const struct unwind_registers *r, uint64_t rule, int expected)
{
	struct unwind_registers before = *r, after = *r;

	assert_int_equal(unwind_step_rule(&after, rule, &memory), expected);
	assert_memory_equal(&before, &after, sizeof(before));
}

static inline void assert_fp_refused(const struct unwind_registers *r, int expected)
{
	struct unwind_registers before = *r, after = *r;

	assert_int_equal(unwind_step_fp(&after, &memory), expected);
	assert_memory_equal(&before, &after, sizeof(before));
}

#endif
