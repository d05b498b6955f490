/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_UNWIND_RULE_H
#define PROFD_COMMON_UNWIND_RULE_H

/*
 * One unwind rule: how to find the caller's registers from a function's, at one range of its
 * instructions. It is what call frame information (DWARF 5, section 6.4) comes down to for the few
 * registers that a stack walk needs, packed into one 64-bit word:
 *
 *   bits  0..3   kind        enum rule_kind; a word of zeroes is RULE_UNKNOWN
 *   bits  4..7   base        enum rule_base, the register that the CFA is computed from
 *   bits  8..25  cfa_offset  signed, in units of 8 bytes
 *   bits 26..27  fp_kind     enum rule_fp, where the caller's frame pointer is
 *   bits 28..40  fp_offset   signed, units of 8 bytes
 *   bits 41..42  ra_kind     enum rule_ra, where the return address is
 *   bits 43..55  ra_offset   signed, units of 8 bytes
 *   bits 56..63  extra       RULE_DEREF: signed, units of 8 bytes, added to what was read
 *                            RULE_PLT: the low four bits of the pc from which on 8 are added
 *                            else: the caller's rbx, see RULE_BX_*; 0 elsewhere than on x86-64
 *
 * RULE_GO has bits of its own from the fifth on, see struct rule_go.
 *
 * What does not fit is RULE_ODD. CFA: the canonical frame address, on x86-64 and aarch64 the stack
 * pointer of the caller right after the call returns.
 *
 * Shared by the BPF programs, profd and the shim: no includes, no functions of a library.
 */
typedef __UINT64_TYPE__ unwind_u64;
typedef __INT64_TYPE__ unwind_s64;
typedef __UINT32_TYPE__ unwind_u32;
typedef __UINT16_TYPE__ unwind_u16;
typedef __UINT8_TYPE__ unwind_u8;

enum rule_kind {
	RULE_UNKNOWN, /* no call frame information here: try the frame pointer */
	RULE_ROOT,    /* the return address is undefined: nothing called this */
	RULE_CFA,     /* CFA = base + cfa_offset */
	RULE_DEREF,   /* CFA = *(base + cfa_offset) + extra */
	RULE_PLT,     /* CFA = base + cfa_offset + ((pc & 15) >= extra ? 8 : 0) */
	RULE_SIGNAL,  /* the restorer of a signal frame: all registers are in the ucontext at sp */
	RULE_ODD,     /* there is a rule, and these words cannot hold it */
	RULE_GO,      /* x86-64: a function of Go's runtime that left its caller's stack */
	/* x86-64: behind a system call that makes a thread. Of the new one, whose rax is 0, this
	 * is the first frame; of the other it is RULE_CFA. */
	RULE_CLONE,
	N_RULE_KINDS,
};

/* The DWARF register numbers are cfi.c's business. */
enum rule_base {
	RULE_BASE_SP,
	RULE_BASE_FP,
	RULE_BASE_OTHER, /* the first of the architecture's others */
	/* x86-64 */
	RULE_BASE_AX = RULE_BASE_OTHER,
	RULE_BASE_BX,
	RULE_BASE_CX,
	RULE_BASE_DX,
	RULE_BASE_R10,
	RULE_BASE_R11,
	RULE_BASE_DI, /* see RULE_RA_IN_DI as well */
	RULE_BASE_SI,
	RULE_BASE_R8,
	RULE_BASE_R9,
	RULE_BASE_R12, /* R12 to R15 are known of leaves alone */
	RULE_BASE_R13,
	RULE_BASE_R14,
	RULE_BASE_R15,
	N_RULE_BASES,
	/* aarch64 */
	RULE_BASE_LR = RULE_BASE_OTHER,
};

#define UNWIND_OTHERS (N_RULE_BASES - RULE_BASE_OTHER)

enum rule_fp {
	RULE_FP_SAME,   /* it still is in its register */
	RULE_FP_AT_CFA, /* saved at CFA + fp_offset */
	RULE_FP_AT_FP,  /* saved at fp + fp_offset (functions that realign their stack) */
	RULE_FP_LOST,
};

enum rule_ra {
	RULE_RA_AT_CFA, /* saved at CFA + ra_offset; on x86-64 nearly always -8 */
	RULE_RA_IN_LR,  /* aarch64: still in the link register */
	RULE_RA_IN_DI,  /* x86-64: in rdi, as in glibc's vfork, which pops it there */
};

/*
 * The caller's rbx (kinds without another use for `extra`): lost (not followed, which is the
 * ordinary case), still in its register, or saved at CFA - 8 * (extra - RULE_BX_SAME), extra above.
 */
#define RULE_BX_LOST 0
#define RULE_BX_SAME 1

/*
 * Functions of Go's runtime that switch stacks: where their caller's stack is. A goroutine's stack
 * pointer is in its g when it is not running; a thread finds its g, from there its m, and in m the
 * goroutine that it runs (curg) and the g of the system stack (g0, m's first field). Sources:
 * src/runtime/runtime2.go (g, m, gobuf), asm_amd64.s.
 */
enum rule_go_place {
	RULE_GO_SAVED,   /* systemstack: the stack pointer that curg saved */
	RULE_GO_RESUMED, /* morestack: all three registers that curg saved, where it will go on */
	/* asmcgocall: on the system stack are a g and how far the stack pointer was below the end
	 * of its stack, which is g's second field (stack.hi) */
	RULE_GO_CALLED_C,
	/* cgocallback: the stack pointer that g0 saved. What it was before this call, for the next
	 * such frame, is the word there. */
	RULE_GO_CALLED_BACK,
	RULE_GO_BY_FP, /* calls of the vdso: the frame pointer, which no stack limits */
	N_RULE_GO_PLACES,
};

/* Bytes, multiples of 8. Bits of the word in brackets; all unsigned but g. */
struct rule_go {
	unsigned place;      /* [4..7] */
	unsigned cfa_offset; /* [8..15] CFA = stack pointer + this; none with RULE_GO_RESUMED */
	unsigned saves_fp;   /* [16] the caller's frame pointer is at CFA - 16, else the same */
	unsigned g_m;        /* [17..24] of m in g; RULE_GO_CALLED_C: of g from sp */
	unsigned m_curg;     /* [25..36] of curg in m */
	unsigned sched_sp;   /* [37..42] of the saved stack pointer in g, and before the saved pc;
			      * RULE_GO_CALLED_C: of the distance from sp */
	unsigned sched_fp;   /* [43..48] of the saved frame pointer in g */
	int g;               /* [49..63] of g from the thread pointer */
};

struct rule {
	unsigned kind, base, fp_kind, ra_kind;
	int cfa_offset, fp_offset, ra_offset; /* bytes, multiples of 8 */
	int extra;                            /* as in the word, RULE_DEREF: bytes */
};

#define RULE_KIND(word) ((unwind_u32)((word)&15))
#define RULE_BASE(word) ((unwind_u32)((word) >> 4 & 15))
#define RULE_FP(word)   ((unwind_u32)((word) >> 26 & 3))
#define RULE_RA(word)   ((unwind_u32)((word) >> 41 & 3))
/* Signed fields, bytes: shifted up to the sign bit, and down arithmetically, less three. */
#define RULE_SIGNED(word, low, bits) \
	((unwind_s64)((unwind_u64)(word) << (64 - (low) - (bits))) >> (64 - (bits)))
#define RULE_CFA_OFFSET(word) (RULE_SIGNED(word, 8, 18) * 8)
#define RULE_FP_OFFSET(word)  (RULE_SIGNED(word, 28, 13) * 8)
#define RULE_RA_OFFSET(word)  (RULE_SIGNED(word, 43, 13) * 8)
#define RULE_EXTRA(word)      ((unwind_u32)((unwind_u64)(word) >> 56))
#define RULE_ADDED(word)      (RULE_SIGNED(word, 56, 8) * 8)

#define RULE_UNSIGNED(word, low, bits) \
	((unwind_u32)((unwind_u64)(word) >> (low)) & ((1u << (bits)) - 1))
#define RULE_GO_PLACE(word)      RULE_UNSIGNED(word, 4, 4)
#define RULE_GO_CFA_OFFSET(word) (RULE_UNSIGNED(word, 8, 8) * 8)
#define RULE_GO_SAVES_FP(word)   RULE_UNSIGNED(word, 16, 1)
#define RULE_GO_G_M(word)        (RULE_UNSIGNED(word, 17, 8) * 8)
#define RULE_GO_M_CURG(word)     (RULE_UNSIGNED(word, 25, 12) * 8)
#define RULE_GO_SCHED_SP(word)   (RULE_UNSIGNED(word, 37, 6) * 8)
#define RULE_GO_SCHED_FP(word)   (RULE_UNSIGNED(word, 43, 6) * 8)
#define RULE_GO_G(word)          (RULE_SIGNED(word, 49, 15) * 8)

/* The word of a rule without fields. */
#define RULE_WORD(kind) ((unwind_u64)(kind))

#define RULE_FITS(bytes, bits) \
	(!((bytes)&7) && (bytes) / 8 >= -(1 << ((bits)-1)) && (bytes) / 8 < 1 << ((bits)-1))

/* Packs @rule; RULE_ODD's word where it does not fit. */
static inline unwind_u64 rule_pack(const struct rule *rule)
{
	int extra = rule->kind == RULE_DEREF ? rule->extra / 8 : rule->extra;

	if (!RULE_FITS(rule->cfa_offset, 18) || !RULE_FITS(rule->fp_offset, 13) ||
	    !RULE_FITS(rule->ra_offset, 13))
		return RULE_WORD(RULE_ODD);
	if (rule->kind == RULE_DEREF ? !RULE_FITS(rule->extra, 8) : extra < 0 || extra > 255)
		return RULE_WORD(RULE_ODD);
	return (unwind_u64)(rule->kind & 15) | (unwind_u64)(rule->base & 15) << 4 |
	       ((unwind_u64)(rule->cfa_offset / 8) & 0x3ffff) << 8 |
	       (unwind_u64)(rule->fp_kind & 3) << 26 |
	       ((unwind_u64)(rule->fp_offset / 8) & 0x1fff) << 28 |
	       (unwind_u64)(rule->ra_kind & 3) << 41 |
	       ((unwind_u64)(rule->ra_offset / 8) & 0x1fff) << 43 |
	       ((unwind_u64)extra & 0xff) << 56;
}

static inline unwind_u64 rule_go_pack(const struct rule_go *rule)
{
	if (rule->place >= N_RULE_GO_PLACES || rule->cfa_offset & 7 ||
	    rule->cfa_offset >= 1 << 11 || rule->g_m & 7 || rule->g_m >= 1 << 11 ||
	    rule->m_curg & 7 || rule->m_curg >= 1 << 15 || rule->sched_sp & 7 ||
	    rule->sched_sp >= 1 << 9 || rule->sched_fp & 7 || rule->sched_fp >= 1 << 9 ||
	    !RULE_FITS(rule->g, 15))
		return RULE_WORD(RULE_ODD);
	return RULE_WORD(RULE_GO) | (unwind_u64)rule->place << 4 |
	       (unwind_u64)(rule->cfa_offset / 8) << 8 | (unwind_u64) !!rule->saves_fp << 16 |
	       (unwind_u64)(rule->g_m / 8) << 17 | (unwind_u64)(rule->m_curg / 8) << 25 |
	       (unwind_u64)(rule->sched_sp / 8) << 37 | (unwind_u64)(rule->sched_fp / 8) << 43 |
	       (unwind_u64)(rule->g / 8) << 49;
}

#endif
