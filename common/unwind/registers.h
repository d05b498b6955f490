/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_UNWIND_REGISTERS_H
#define PROFD_COMMON_UNWIND_REGISTERS_H

/* The registers that a walk carries from frame to frame. */
#include "common/unwind/rule.h"

/* Bits of unwind_registers.known: others[i], and the frame pointer. */
#define UNWIND_KNOWN(base) (1u << ((base)-RULE_BASE_OTHER))
#define UNWIND_KNOWN_FP    (1u << 31)

/*
 * x86-64: what a callee may change. Known of callers, too, as it was in the leaf: where a caller's
 * CFA counts from one of these, that is assembly, whose author knows that the callee leaves it
 * alone.
 */
#define UNWIND_KNOWN_SCRATCH                                                                    \
	(UNWIND_KNOWN(RULE_BASE_AX) | UNWIND_KNOWN(RULE_BASE_CX) | UNWIND_KNOWN(RULE_BASE_DX) | \
	 UNWIND_KNOWN(RULE_BASE_DI) | UNWIND_KNOWN(RULE_BASE_SI) | UNWIND_KNOWN(RULE_BASE_R8) | \
	 UNWIND_KNOWN(RULE_BASE_R9) | UNWIND_KNOWN(RULE_BASE_R10) | UNWIND_KNOWN(RULE_BASE_R11))

struct unwind_registers {
	unwind_u64 pc, sp, fp;
	unwind_u64 others[UNWIND_OTHERS]; /* by enum rule_base - RULE_BASE_OTHER */
	unwind_u64 thread;                /* the thread pointer (fs_base); 0 unknown. RULE_GO */
	unwind_u64 system_sp;   /* the stack pointer of Go's system stack; 0: where g0 saved it */
	unwind_u32 known;       /* which of the others, and fp */
	unwind_u8 is_return;    /* pc is where a call returns to: look up pc - 1 */
	unwind_u8 above_signal; /* sp came from a signal frame: may lie anywhere */
	unwind_u8 compat;       /* a 32-bit program: frame pointers, words of 4 bytes */
	unwind_u8 is_last;      /* a saved frame pointer of zero said so */
	unwind_u8 is_guessed;   /* a step that led here was a guess (guess.h) */
	unwind_u8 has_pointers; /* code that tables leave out has frame pointers: no guesses */
	unwind_u8 reserved[6];  /* as the compiler would pad it: 0 */
};

#endif
