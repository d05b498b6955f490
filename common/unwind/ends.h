/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_UNWIND_ENDS_H
#define PROFD_COMMON_UNWIND_ENDS_H

/*
 * Where a walk ends, and as what: the decisions between the steps of step.h, in one text for all
 * hosts. Per frame, where there is no rule:
 *
 * - unwind_is_restorer(): then RULE_SIGNAL is the rule;
 * - else unwind_end_without_rule(), before a guess (guess.h) or a step by the frame pointer;
 * - then, where that step has no caller, unwind_end_of_pointer(). A caller outside of all code is
 *   none either: the frame before is the last one, and the end UNWIND_BAD_POINTER.
 *
 * A step by a rule that has no caller is unwind_end_of_rule()'s.
 *
 * Code is read by the host, which defines, before it includes this file,
 *
 *   struct unwind_code;
 *   static inline bool unwind_read_code(struct unwind_code *code, unwind_u64 address,
 *                                       unwind_u64 *ret, unwind_u32 n_bytes);
 *
 * @n_bytes from @address on, in memory's order; false if they cannot be had. Asked once a frame, or
 * twice for a leaf, and by guesses (guess.h).
 */
#include "common/reasons.h"
#include "common/unwind/step.h"

/* How a walk ends: a quality and a reason of its list, or that it does not end here. */
#define UNWIND_END(quality, reason) ((quality) << 8 | (reason))
#define UNWIND_END_QUALITY(end)     ((unwind_u8)((end) >> 8))
#define UNWIND_END_REASON(end)      ((unwind_u8)(end))
#define UNWIND_GOES_ON              (-1)
#define UNWIND_AT_ROOT              UNWIND_END(STACK_COMPLETE, 0)
/* The host may be able to get what could not be read, and take the step again. */
#define UNWIND_LACKS_MEMORY UNWIND_END(STACK_BROKEN, BROKEN_UNREADABLE)
/* @refused: there was no rule because the host would not have the table. */
#define UNWIND_BAD_POINTER(refused) \
	UNWIND_END(STACK_BROKEN, (refused) ? BROKEN_NO_TABLE : BROKEN_FRAME_POINTER)

/* As far as the program's first instructions move their stack pointer before they call. */
#define UNWIND_START_SPAN 64u
/* What lies further away than a stack is large, by default, belongs to another one. */
#define UNWIND_STACK_SPAN (8ull << 20)

/* A restorer: what a signal handler returns to, to call rt_sigreturn(2). Little endian. */
#if defined(UNWIND_X86_64)
/* mov $15, %rax; syscall */
#define UNWIND_RESTORER       0x0f0000000fc0c748ull
#define UNWIND_RESTORER_ABOVE 0x05ull
#define UNWIND_RESTORER_BYTES 9u
#define UNWIND_RESTORER_MOV   7u /* bytes of its first instruction */
/* Of registers that a leaf's walk has and a caller's has not. */
#define UNWIND_LEAF_KNOWS UNWIND_KNOWN(RULE_BASE_R12)
#else
/* mov x8, #139; svc #0 */
#define UNWIND_RESTORER       0xd4000001d2801168ull
#define UNWIND_RESTORER_ABOVE 0ull
#define UNWIND_RESTORER_BYTES 8u
#define UNWIND_RESTORER_MOV   4u
#define UNWIND_LEAF_KNOWS     UNWIND_KNOWN(RULE_BASE_LR)
#endif

static inline bool unwind_restores(struct unwind_code *code, unwind_u64 address)
{
	unwind_u64 found[2] = {0, 0};

	return unwind_read_code(code, address, found, UNWIND_RESTORER_BYTES) &&
	       found[0] == UNWIND_RESTORER && found[1] == UNWIND_RESTORER_ABOVE;
}

/*
 * Whether @r is in a restorer that no rule covers (musl, Go): its code says what it is. A caller is
 * at its first instruction, a leaf may be at the second, and is behind it while the kernel does
 * what it asks for: then nothing but the system call says so, as the next function begins there.
 */
static UNWIND_RARE bool unwind_is_restorer(const struct unwind_registers *r,
					   struct unwind_code *code)
{
	if (r->compat)
		return false;
	if (unwind_restores(code, r->pc))
		return true;
	if (r->is_return)
		return r->known & UNWIND_LEAF_KNOWS &&
		       unwind_restores(code, r->pc - UNWIND_RESTORER_BYTES);
	return unwind_restores(code, r->pc - UNWIND_RESTORER_MOV);
}

/*
 * Whether nothing can be above: the program's, or its loader's, first instructions. The stack
 * pointer is where the program found it, and the frame pointer is none. The kernel zeroes it, but
 * code without rules may have put anything there since. @start_stack: the mm's, 0 unknown.
 */
static UNWIND_RARE bool unwind_is_at_start(const struct unwind_registers *r, unwind_u64 start_stack)
{
	if (!start_stack || r->sp + UNWIND_START_SPAN < start_stack ||
	    r->sp > start_stack + UNWIND_START_SPAN)
		return false;
	return !(r->known & UNWIND_KNOWN_FP) || r->fp < r->sp || r->fp >= start_stack;
}

/* @r is the last frame of its stack. */
static inline int unwind_at_root(const struct unwind_registers *r)
{
	return r->is_guessed ? UNWIND_END(STACK_GUESSED, 0) : UNWIND_AT_ROOT;
}

/*
 * The ends return UNWIND_GOES_ON or an UNWIND_END(). This one knows of a saved frame pointer of
 * zero that led to @r. In a 32-bit program everything goes by frame pointers, and a C library
 * without them hands zero on to its callees: there only the program's own code (_start) is a root,
 * from @start_code to @end_code of the mm; both 0 unknown.
 */
static inline int unwind_end_without_rule(const struct unwind_registers *r, unwind_u64 start_stack,
					  unwind_u64 start_code, unwind_u64 end_code)
{
	unwind_u64 pc = unwind_lookup_pc(r);

	if (!r->is_last)
		return unwind_is_at_start(r, start_stack) ? unwind_at_root(r) : UNWIND_GOES_ON;
	if (r->compat && (pc < start_code || pc >= end_code))
		return UNWIND_END(STACK_BROKEN, BROKEN_UNKNOWN);
	return unwind_at_root(r);
}

/* @step: what unwind_step_fp() of @r returned, other than _CALLER. */
static inline int unwind_end_of_pointer(const struct unwind_registers *r, int step, bool refused)
{
	/* Code without frame pointers has anything in that register. */
	if (step == UNWIND_STEP_UNREADABLE && r->fp - r->sp < UNWIND_STACK_SPAN)
		return UNWIND_LACKS_MEMORY;
	return UNWIND_BAD_POINTER(refused);
}

/* @step: what unwind_step_rule() of @r returned, other than _CALLER. */
static inline int unwind_end_of_rule(const struct unwind_registers *r, unwind_u64 rule, int step,
				     unwind_u64 start_stack)
{
	switch (step) {
	case UNWIND_STEP_ROOT:
		return unwind_at_root(r);
	case UNWIND_STEP_UNREADABLE:
		/* What the runtime notes of a switch is another one's by the time it can be had. */
		if (RULE_KIND(rule) == RULE_GO && RULE_GO_PLACE(rule) != RULE_GO_BY_FP)
			break;
		return UNWIND_LACKS_MEMORY;
	case UNWIND_STEP_IMPLAUSIBLE:
		/* Start-up code in assembly may well have rules that do not know that it is. */
		if (unwind_is_at_start(r, start_stack))
			return unwind_at_root(r);
		if (RULE_KIND(rule) != RULE_GO && RULE_BASE(rule) == RULE_BASE_FP)
			return UNWIND_BAD_POINTER(false);
	}
	return UNWIND_END(STACK_BROKEN, BROKEN_RULE);
}

#endif
