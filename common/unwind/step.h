/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_UNWIND_STEP_H
#define PROFD_COMMON_UNWIND_STEP_H

/*
 * One step of a stack walk: from a frame's registers to its caller's. The same code in all hosts:
 * the BPF programs, profd on copies of stacks, the shim. Search and loop are each host's own.
 *
 * Memory is the host's: walk_memory.h, unless it defines UNWIND_HOST_MEMORY and, before it includes
 * this file,
 *
 *   struct unwind_memory;
 *   static inline bool unwind_read(struct unwind_memory *memory, unwind_u64 address,
 *                                  unwind_u64 *ret);   one word; false if it cannot be read
 *
 * UNWIND_RARE, if it is defined, goes before the return type of functions that few frames need.
 *
 * UNWIND_X86_64 or UNWIND_AARCH64 is chosen by the compiler's target unless it is defined.
 *
 * Each step checks that the walk goes up: the caller's stack pointer is above the callee's, but for
 * signal frames and Go's switches, which may come from another stack. Memory that lies can make
 * those turn in circles: hosts bound the number of frames.
 */
#include "common/unwind/registers.h"
#include "common/unwind/rule.h"
#ifndef UNWIND_HOST_MEMORY
#include "common/unwind/walk_memory.h"
#endif

#ifndef UNWIND_RARE
#define UNWIND_RARE inline
#endif

#if !defined(UNWIND_X86_64) && !defined(UNWIND_AARCH64)
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define UNWIND_X86_64 1
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define UNWIND_AARCH64 1
#else
#error "no unwinding for this architecture"
#endif
#endif

#if defined(UNWIND_X86_64)
#define UNWIND_USER_LIMIT  (1ull << 56) /* five-level page tables */
#define UNWIND_RETURN_MASK (~0ull)
#define UNWIND_COMPAT      1
/* arch/x86/include/uapi/asm/sigcontext.h: the ucontext's registers, by offset from it. */
#define UNWIND_SIGNAL_PC  168
#define UNWIND_SIGNAL_SP  160
#define UNWIND_SIGNAL_FP  120
#define UNWIND_SIGNAL_AX  144
#define UNWIND_SIGNAL_BX  128
#define UNWIND_SIGNAL_CX  152
#define UNWIND_SIGNAL_DX  136
#define UNWIND_SIGNAL_DI  104
#define UNWIND_SIGNAL_SI  112
#define UNWIND_SIGNAL_R8  40
#define UNWIND_SIGNAL_R9  48
#define UNWIND_SIGNAL_R10 56
#define UNWIND_SIGNAL_R11 64
#define UNWIND_SIGNAL_R12 72
#define UNWIND_SIGNAL_R13 80
#define UNWIND_SIGNAL_R14 88
#define UNWIND_SIGNAL_R15 96
#else
#define UNWIND_USER_LIMIT  (1ull << 52)
#define UNWIND_RETURN_MASK ((1ull << 48) - 1) /* drops the pointer authentication code */
#define UNWIND_COMPAT      0                  /* 32-bit code has no one frame layout */
/*
 * struct rt_sigframe: 128 bytes of siginfo, then the ucontext, whose mcontext begins at 176
 * (arch/arm64/include/uapi/asm/ucontext.h, sigcontext.h): fault_address, regs[31], sp, pc.
 */
#define UNWIND_SIGNAL_REGS (128 + 176 + 8)
#define UNWIND_SIGNAL_FP   (UNWIND_SIGNAL_REGS + 29 * 8)
#define UNWIND_SIGNAL_LR   (UNWIND_SIGNAL_REGS + 30 * 8)
#define UNWIND_SIGNAL_SP   (UNWIND_SIGNAL_REGS + 31 * 8)
#define UNWIND_SIGNAL_PC   (UNWIND_SIGNAL_REGS + 32 * 8)
#endif

enum unwind_step {
	UNWIND_STEP_CALLER, /* the registers are the caller's now */
	UNWIND_STEP_ROOT,
	UNWIND_STEP_NO_RULE,     /* RULE_UNKNOWN: the host tries the frame pointer */
	UNWIND_STEP_ODD,         /* a rule or a register that cannot be followed */
	UNWIND_STEP_UNREADABLE,  /* memory could not be read */
	UNWIND_STEP_IMPLAUSIBLE, /* what came out cannot be a caller */
};

/*
 * The walk's address to look up: inside the instruction that is executing or calling. A signal's
 * or a tick's pc is exact, a return address is one past the call.
 */
static inline unwind_u64 unwind_lookup_pc(const struct unwind_registers *r)
{
	return r->pc - (r->is_return ? 1 : 0);
}

/* One of the others from a ucontext; a walk gets along without it. */
static inline void unwind_restore(struct unwind_registers *r, struct unwind_memory *memory,
				  unwind_u32 base, unwind_u64 address)
{
	unwind_u64 value;

	if (!unwind_read(memory, address, &value))
		return;
	r->others[base - RULE_BASE_OTHER] = value;
	r->known |= UNWIND_KNOWN(base);
}

/*
 * Each of these returns an UNWIND_STEP_*, and changes @r only when that is _CALLER. @memory is the
 * host's, handed to unwind_read().
 */
static UNWIND_RARE int unwind_step_signal(struct unwind_registers *r, struct unwind_memory *memory)
{
	unwind_u64 at = r->sp, pc, sp, fp;

	if (!unwind_read(memory, at + UNWIND_SIGNAL_PC, &pc) ||
	    !unwind_read(memory, at + UNWIND_SIGNAL_SP, &sp) ||
	    !unwind_read(memory, at + UNWIND_SIGNAL_FP, &fp))
		return UNWIND_STEP_UNREADABLE;
	if (pc >= UNWIND_USER_LIMIT || sp >= UNWIND_USER_LIMIT)
		return UNWIND_STEP_IMPLAUSIBLE;
	r->pc = pc;
	r->sp = sp;
	r->fp = fp;
	r->known = UNWIND_KNOWN_FP;
	r->is_return = 0;
	r->above_signal = 1;
	r->is_last = 0;
#if defined(UNWIND_X86_64)
	unwind_restore(r, memory, RULE_BASE_AX, at + UNWIND_SIGNAL_AX);
	unwind_restore(r, memory, RULE_BASE_BX, at + UNWIND_SIGNAL_BX);
	unwind_restore(r, memory, RULE_BASE_CX, at + UNWIND_SIGNAL_CX);
	unwind_restore(r, memory, RULE_BASE_DX, at + UNWIND_SIGNAL_DX);
	unwind_restore(r, memory, RULE_BASE_R10, at + UNWIND_SIGNAL_R10);
	unwind_restore(r, memory, RULE_BASE_R11, at + UNWIND_SIGNAL_R11);
	unwind_restore(r, memory, RULE_BASE_DI, at + UNWIND_SIGNAL_DI);
	unwind_restore(r, memory, RULE_BASE_SI, at + UNWIND_SIGNAL_SI);
	unwind_restore(r, memory, RULE_BASE_R8, at + UNWIND_SIGNAL_R8);
	unwind_restore(r, memory, RULE_BASE_R9, at + UNWIND_SIGNAL_R9);
	unwind_restore(r, memory, RULE_BASE_R12, at + UNWIND_SIGNAL_R12);
	unwind_restore(r, memory, RULE_BASE_R13, at + UNWIND_SIGNAL_R13);
	unwind_restore(r, memory, RULE_BASE_R14, at + UNWIND_SIGNAL_R14);
	unwind_restore(r, memory, RULE_BASE_R15, at + UNWIND_SIGNAL_R15);
#else
	unwind_restore(r, memory, RULE_BASE_LR, at + UNWIND_SIGNAL_LR);
#endif
	return UNWIND_STEP_CALLER;
}

/* The value of a rule's base register; false if it is not known. */
static inline int unwind_base(const struct unwind_registers *r, unwind_u32 base, unwind_u64 *ret)
{
	unwind_u64 other = (unwind_u64)base - RULE_BASE_OTHER;

	if (base == RULE_BASE_SP) {
		*ret = r->sp;
		return 1;
	}
	if (base == RULE_BASE_FP) {
		*ret = r->fp;
		return !!(r->known & UNWIND_KNOWN_FP);
	}
	__asm__("" : "+r"(other)); /* BPF's verifier wants the check, which any base passes */
	if (other >= UNWIND_OTHERS || !(r->known >> other & 1))
		return 0;
	*ret = r->others[other];
	return 1;
}

/* RULE_CFA, RULE_DEREF and RULE_PLT: everything that saves the caller's registers by the CFA. */
static inline int unwind_step_cfa(struct unwind_registers *r, unwind_u64 rule,
				  struct unwind_memory *memory)
{
	unwind_u32 kind = RULE_KIND(rule), fp_kind = RULE_FP(rule), known = 0;
	unwind_u64 cfa, pc, fp = r->fp, bx = 0;

	if (!unwind_base(r, RULE_BASE(rule), &cfa))
		return UNWIND_STEP_ODD;
	cfa += RULE_CFA_OFFSET(rule);
	if (kind == RULE_DEREF) {
		if (!unwind_read(memory, cfa, &cfa))
			return UNWIND_STEP_UNREADABLE;
		cfa += RULE_ADDED(rule);
	} else if (kind == RULE_PLT && (r->pc & 15) >= RULE_EXTRA(rule)) {
		cfa += 8;
	}
	if (RULE_RA(rule) != RULE_RA_AT_CFA) {
		if (!unwind_base(r, RULE_RA(rule) == RULE_RA_IN_DI ? RULE_BASE_DI : RULE_BASE_LR,
				 &pc))
			return UNWIND_STEP_ODD;
		/* A function without a frame: the caller's stack pointer is its own. */
		if (cfa < r->sp)
			return UNWIND_STEP_IMPLAUSIBLE;
	} else {
		if (cfa <= r->sp || cfa >= UNWIND_USER_LIMIT)
			return UNWIND_STEP_IMPLAUSIBLE;
		if (!unwind_read(memory, cfa + RULE_RA_OFFSET(rule), &pc))
			return UNWIND_STEP_UNREADABLE;
	}
	pc &= UNWIND_RETURN_MASK;
	if (pc < 4096 || pc >= UNWIND_USER_LIMIT || cfa >= UNWIND_USER_LIMIT)
		return UNWIND_STEP_IMPLAUSIBLE;
	if (fp_kind == RULE_FP_SAME) {
		known = r->known & UNWIND_KNOWN_FP;
	} else if (fp_kind == RULE_FP_AT_CFA ||
		   (fp_kind == RULE_FP_AT_FP && r->known & UNWIND_KNOWN_FP)) {
		if (!unwind_read(memory,
				 (fp_kind == RULE_FP_AT_FP ? r->fp : cfa) + RULE_FP_OFFSET(rule),
				 &fp))
			return UNWIND_STEP_UNREADABLE;
		known = UNWIND_KNOWN_FP;
	}
#if defined(UNWIND_X86_64)
	known |= r->known & UNWIND_KNOWN_SCRATCH;
	if (RULE_RA(rule) == RULE_RA_IN_DI)
		known &= ~UNWIND_KNOWN(RULE_BASE_DI);
	if (kind == RULE_CFA && RULE_EXTRA(rule) == RULE_BX_SAME) {
		known |= r->known & UNWIND_KNOWN(RULE_BASE_BX);
	} else if (kind == RULE_CFA && RULE_EXTRA(rule) > RULE_BX_SAME) {
		if (!unwind_read(memory, cfa - 8 * (unwind_u64)(RULE_EXTRA(rule) - RULE_BX_SAME),
				 &bx))
			return UNWIND_STEP_UNREADABLE;
		r->others[RULE_BASE_BX - RULE_BASE_OTHER] = bx;
		known |= UNWIND_KNOWN(RULE_BASE_BX);
	}
#endif
	(void)bx;
	r->pc = pc;
	r->sp = cfa;
	r->fp = fp;
	r->known = known;
	r->is_return = 1;
	r->above_signal = 0;
	r->is_last = 0;
	return UNWIND_STEP_CALLER;
}

#if defined(UNWIND_X86_64)
/* In the system call itself rax is -ENOSYS; a caller's is not known. */
static inline int unwind_step_clone(struct unwind_registers *r, unwind_u64 rule,
				    struct unwind_memory *memory)
{
	if (!(r->known & UNWIND_KNOWN(RULE_BASE_R12)))
		return UNWIND_STEP_ODD;
	if (!r->others[RULE_BASE_AX - RULE_BASE_OTHER])
		return UNWIND_STEP_ROOT;
	return unwind_step_cfa(r, rule ^ RULE_CLONE ^ RULE_CFA, memory);
}

/* The g that the thread of @r runs, or that of its system stack. Returns an UNWIND_STEP_*. */
static inline int unwind_go_find(const struct unwind_registers *r, unwind_u64 rule,
				 struct unwind_memory *memory, unwind_u64 *ret)
{
	unwind_u64 g, m, in_m = RULE_GO_M_CURG(rule);

	if (!r->thread)
		return UNWIND_STEP_ODD;
	if (RULE_GO_PLACE(rule) == RULE_GO_CALLED_BACK)
		in_m = 0;
	if (!unwind_read(memory, r->thread + RULE_GO_G(rule), &g) ||
	    !unwind_read(memory, g + RULE_GO_G_M(rule), &m) || !unwind_read(memory, m + in_m, &g))
		return UNWIND_STEP_UNREADABLE;
	*ret = g;
	/* Without a goroutine the thread looks for the next one: nothing called that. */
	return g ? UNWIND_STEP_CALLER : UNWIND_STEP_ROOT;
}

/* The stack pointer that the CFA is counted from. */
static inline int unwind_go_stack(const struct unwind_registers *r, unwind_u64 rule,
				  struct unwind_memory *memory, unwind_u64 *ret)
{
	unwind_u64 g, end, distance;
	int step;

	if (RULE_GO_PLACE(rule) == RULE_GO_CALLED_C) {
		if (!unwind_read(memory, r->sp + RULE_GO_G_M(rule), &g) ||
		    !unwind_read(memory, r->sp + RULE_GO_SCHED_SP(rule), &distance) ||
		    !unwind_read(memory, g + 8, &end))
			return UNWIND_STEP_UNREADABLE;
		*ret = end - distance;
		return UNWIND_STEP_CALLER;
	}
	if (RULE_GO_PLACE(rule) == RULE_GO_BY_FP) {
		*ret = r->fp;
		return r->known & UNWIND_KNOWN_FP ? UNWIND_STEP_CALLER : UNWIND_STEP_ODD;
	}
	if (RULE_GO_PLACE(rule) == RULE_GO_CALLED_BACK && r->system_sp) {
		*ret = r->system_sp;
		return UNWIND_STEP_CALLER;
	}
	step = unwind_go_find(r, rule, memory, &g);
	if (step == UNWIND_STEP_CALLER && !unwind_read(memory, g + RULE_GO_SCHED_SP(rule), ret))
		return UNWIND_STEP_UNREADABLE;
	return step;
}

/* RULE_GO: to another stack, which may be anywhere. */
static UNWIND_RARE int unwind_step_go(struct unwind_registers *r, unwind_u64 rule,
				      struct unwind_memory *memory)
{
	unwind_u32 place = RULE_GO_PLACE(rule);
	unwind_u64 cfa, pc, g, fp = r->fp, before = r->system_sp;
	int step;

	if (place == RULE_GO_RESUMED) {
		step = unwind_go_find(r, rule, memory, &g);
		if (step != UNWIND_STEP_CALLER)
			return step;
		if (!unwind_read(memory, g + RULE_GO_SCHED_SP(rule), &cfa) ||
		    !unwind_read(memory, g + RULE_GO_SCHED_SP(rule) + 8, &pc) ||
		    !unwind_read(memory, g + RULE_GO_SCHED_FP(rule), &fp))
			return UNWIND_STEP_UNREADABLE;
	} else {
		step = unwind_go_stack(r, rule, memory, &cfa);
		if (step != UNWIND_STEP_CALLER)
			return step;
		if (place == RULE_GO_CALLED_BACK && !unwind_read(memory, cfa, &before))
			return UNWIND_STEP_UNREADABLE;
		cfa += RULE_GO_CFA_OFFSET(rule);
		if (!unwind_read(memory, cfa - 8, &pc) ||
		    (RULE_GO_SAVES_FP(rule) && !unwind_read(memory, cfa - 16, &fp)))
			return UNWIND_STEP_UNREADABLE;
	}
	if (pc < 4096 || pc >= UNWIND_USER_LIMIT || cfa >= UNWIND_USER_LIMIT || cfa & 7)
		return UNWIND_STEP_IMPLAUSIBLE;
	r->pc = pc;
	r->sp = cfa;
	r->fp = fp;
	r->known = place == RULE_GO_RESUMED || RULE_GO_SAVES_FP(rule) ? UNWIND_KNOWN_FP
								      : r->known & UNWIND_KNOWN_FP;
	r->system_sp = before;
	r->is_return = 1;
	r->above_signal = 0;
	r->is_last = 0;
	return UNWIND_STEP_CALLER;
}
#endif

static inline int unwind_step_rule(struct unwind_registers *r, unwind_u64 rule,
				   struct unwind_memory *memory)
{
	switch (RULE_KIND(rule)) {
	case RULE_UNKNOWN:
		return UNWIND_STEP_NO_RULE;
	case RULE_ROOT:
		return UNWIND_STEP_ROOT;
	case RULE_CFA:
	case RULE_DEREF:
	case RULE_PLT:
		return unwind_step_cfa(r, rule, memory);
	case RULE_SIGNAL:
		return unwind_step_signal(r, memory);
#if defined(UNWIND_X86_64)
	case RULE_GO:
		return unwind_step_go(r, rule, memory);
	case RULE_CLONE:
		return unwind_step_clone(r, rule, memory);
#endif
	}
	return UNWIND_STEP_ODD;
}

/*
 * By the frame pointer, where there is no rule: two words, the caller's frame pointer and the
 * return address (System V x86-64 ABI 3.4.1, AAPCS64 6.4.6). A saved frame pointer of zero says
 * that the caller is the last frame, unless a rule knows better; anything else must lie above.
 */
static inline int unwind_step_fp(struct unwind_registers *r, struct unwind_memory *memory)
{
	unwind_u64 fp = r->fp, next, pc;

	if (!(r->known & UNWIND_KNOWN_FP) || fp & (r->compat ? 3 : 7) || fp < r->sp ||
	    fp >= UNWIND_USER_LIMIT || (r->compat && !UNWIND_COMPAT))
		return UNWIND_STEP_IMPLAUSIBLE;
	if (!unwind_read(memory, fp, &next))
		return UNWIND_STEP_UNREADABLE;
	if (r->compat) {
		pc = next >> 32;
		next &= 0xffffffff;
	} else if (!unwind_read(memory, fp + 8, &pc)) {
		return UNWIND_STEP_UNREADABLE;
	}
	pc &= UNWIND_RETURN_MASK;
	if (pc < 4096 || pc >= UNWIND_USER_LIMIT)
		return UNWIND_STEP_IMPLAUSIBLE;
	r->pc = pc;
	r->sp = fp + (r->compat ? 8 : 16);
	r->fp = next;
	r->known = UNWIND_KNOWN_FP;
	r->is_return = 1;
	r->above_signal = 0;
	r->is_last = next == 0;
	return UNWIND_STEP_CALLER;
}

#endif
