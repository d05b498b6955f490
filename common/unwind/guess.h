/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_UNWIND_GUESS_H
#define PROFD_COMMON_UNWIND_GUESS_H

/*
 * The caller of code that an image's rules leave out, which is assembly, mostly: a word of the
 * stack, not far above its pointer, that looks like the return address. x86-64; elsewhere nothing
 * is found. Stale words of earlier calls look the same, so this is a guess, and the stack says so.
 *
 * A word may be the return address if a call instruction ends there that
 *
 *   leads here: to code without rules, of the same image, at the pc or a little before. Of several
 *   such words the one counts whose function begins last, as no function begins between the
 *   beginning of that one and the pc; of several calls of one function the first. A function that
 *   makes its frame pointer has its return address at that, or has no frame (yet, or any more).
 *
 *   may lead here: to other code without rules there, which may jump here, or to what a register
 *   or memory had then. In this case the next return address has to be where the rule of the
 *   caller has it. The first such word counts if there is none of the others.
 *
 * Calls through a stub (of a procedure linkage table) or a word of memory (of a global offset
 * table) lead to what is there now. Calls to code with rules do not lead here, unless that jumps.
 *
 * A function that has aligned its stack, or made room for whole tables, has kept the pointer that
 * it had before: behind the first words are those that a leaf's registers point to.
 *
 * The host has, before it includes this file,
 *
 *   struct unwind_view;
 *   static bool unwind_view_read(struct unwind_view *view, unwind_u64 address, unwind_u64 *ret);
 *           a word of data
 *   static bool unwind_view_read_code(struct unwind_view *view, unwind_u64 address,
 *                                     unwind_u64 *ret, unwind_u32 n_bytes);
 *           code, 8 or 16 bytes
 *   static bool unwind_view_find(struct unwind_view *view, unwind_u64 address,
 *                                unwind_u32 *ret_image, unwind_u64 *ret_rule);
 *           false: no code. RULE_UNKNOWN is a rule that a table leaves out; where there is no
 *           table (yet), it is RULE_ODD or none of enum rule_kind
 *
 * and may define UNWIND_GUESS_PART, which goes before the return types of the larger functions. It
 * calls unwind_guess_begin(), unwind_guess_try() for the address of each of UNWIND_GUESS_STEPS, and
 * unwind_guess_end().
 */
#include "common/unwind/ends.h"

#ifndef UNWIND_GUESS_PART
#define UNWIND_GUESS_PART static
#endif

/* From the stack pointer on, and from each register. */
#define UNWIND_GUESS_WORDS          1024u
#define UNWIND_GUESS_REGISTER_WORDS 32u
#define UNWIND_GUESS_STEPS          (UNWIND_GUESS_WORDS + UNWIND_OTHERS * UNWIND_GUESS_REGISTER_WORDS)
/* A register that points further above the stack pointer has something else. */
#define UNWIND_GUESS_REGISTER_SPAN 65536u
/* As large as a function without rules may be. */
#define UNWIND_GUESS_FUNCTION 16384u
/* As far below its return address as a function saves its caller's frame pointer. */
#define UNWIND_GUESS_SAVED 16u
#define UNWIND_GUESS_PAGE  4096u
/* Words behind the first that was found in which a better one is looked for. */
#define UNWIND_GUESS_FURTHER 64u

/* A return address, where on the stack it is, and the function that was called; caller 0: none. */
struct unwind_guess_word {
	unwind_u64 caller, at, target;
};

/* What is looked for, and found. */
struct unwind_guess {
	unwind_u64 pc, sp, fp; /* of the code without rules */
	unwind_u64 caller_fp;  /* the frame pointer of the caller that was looked at last */
	unwind_u64 first;      /* the address of the first word that was found; 0: none yet */
	unwind_u64 unreadable; /* what could not be read last: the page is left alone */
	struct unwind_guess_word leads, may_lead;
	unwind_u32 image;
};

/* What has come of it. */
enum unwind_guessed {
	UNWIND_GUESSED_CALLER,  /* the registers are the caller's now */
	UNWIND_GUESSED_POINTER, /* it is the frame pointer's: unwind_step_fp(), which is no guess */
	UNWIND_GUESSED_NOTHING, /* then the frame pointer is one */
};

#if defined(UNWIND_X86_64)

/* Whether a call leads to the code without rules. */
enum unwind_leads { UNWIND_LEADS_ELSEWHERE, UNWIND_MAY_LEAD, UNWIND_LEADS_HERE };

/* Bytes of a call by register or memory (opcode ff /2), by those behind the opcode. */
static inline unwind_u32 unwind_call_bytes(unwind_u32 modrm, unwind_u32 sib)
{
	unwind_u32 mod = modrm >> 6, rm = modrm & 7, n = 2;

	if (mod == 3)
		return n;
	if (rm == 4)
		n++;
	if (mod == 1)
		return n + 1;
	if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
		return n + 4;
	return n;
}

#define UNWIND_BYTE(code, i) ((unwind_u32)((code) >> (8 * (i))) & 0xff)

/* @code: the eight bytes before a return address, in memory's order. */
static inline bool unwind_is_call(unwind_u64 code)
{
	if (UNWIND_BYTE(code, 3) == 0xe8)
		return true;
	for (unwind_u32 i = 1; i <= 6; i++)
		if (UNWIND_BYTE(code, i) == 0xff && (UNWIND_BYTE(code, i + 1) & 0x38) == 0x10 &&
		    i + unwind_call_bytes(UNWIND_BYTE(code, i + 1),
					  i < 6 ? UNWIND_BYTE(code, i + 2) : 0) ==
			    8)
			return true;
	return false;
}

/* The last four bytes of such code, which are relative to what follows. */
#define UNWIND_RELATIVE(code) ((unwind_s64)(code) >> 32)

/* Eight bytes of a function's code, behind the mark of where indirect calls may lead. */
static inline bool unwind_read_entry(struct unwind_view *view, unwind_u64 *address, unwind_u64 *ret)
{
	unwind_u64 code[2] = {0, 0};

	if (!unwind_view_read_code(view, *address, code, sizeof(code)))
		return false;
	*ret = code[0];
	if ((code[0] & 0xffffffff) == 0xfa1e0ff3) { /* endbr64 */
		*ret = code[0] >> 32 | code[1] << 32;
		*address += 4;
	}
	return true;
}

/* The word that the stub at @address jumps to; 0: it is none. */
static inline unwind_u64 unwind_stub_word(struct unwind_view *view, unwind_u64 address)
{
	unwind_u64 jump;

	if (!unwind_read_entry(view, &address, &jump))
		return 0;
	if ((jump & 0xff) == 0xf2) { /* bnd */
		jump >>= 8;
		address++;
	}
	if ((jump & 0xffff) != 0x25ff) /* jmp *offset(%rip) */
		return 0;
	return address + 6 + (unwind_u64)((unwind_s64)(jump << 16) >> 32);
}

/* Whether the function at @address makes its frame pointer first. */
static inline bool unwind_makes_frame(struct unwind_view *view, unwind_u64 address)
{
	unwind_u64 code;

	if (!unwind_read_entry(view, &address, &code))
		return false;
	/* push %rbp; mov %rsp, %rbp, which has two encodings */
	return (code & 0xffffffff) == 0xe5894855 || (code & 0xffffffff) == 0xec8b4855;
}

static inline int unwind_target_leads(struct unwind_view *view, const struct unwind_guess *guess,
				      unwind_u64 target)
{
	unwind_u32 image;
	unwind_u64 rule;

	if (!unwind_view_find(view, target, &image, &rule) || image != guess->image ||
	    RULE_KIND(rule) != RULE_UNKNOWN)
		return UNWIND_LEADS_ELSEWHERE;
	return guess->pc - target < UNWIND_GUESS_FUNCTION ? UNWIND_LEADS_HERE : UNWIND_MAY_LEAD;
}

/*
 * @code: the eight bytes before @caller. @ret_target: where the call that they end with leads, if
 * that is known. Returns enum unwind_leads.
 */
static inline int unwind_call_leads(struct unwind_view *view, const struct unwind_guess *guess,
				    unwind_u64 caller, unwind_u64 code, unwind_u64 *ret_target)
{
	unwind_u64 word;

	*ret_target = 0;
	if (UNWIND_BYTE(code, 3) == 0xe8) {
		*ret_target = caller + (unwind_u64)UNWIND_RELATIVE(code);
		word = unwind_stub_word(view, *ret_target);
	} else if ((code >> 16 & 0xffff) == 0x15ff) { /* call *offset(%rip) */
		word = caller + (unwind_u64)UNWIND_RELATIVE(code);
	} else {
		return unwind_is_call(code) ? UNWIND_MAY_LEAD : UNWIND_LEADS_ELSEWHERE;
	}
	if (word && !unwind_view_read(view, word, ret_target))
		return UNWIND_MAY_LEAD;
	return unwind_target_leads(view, guess, *ret_target);
}

/* Whether the word at @address is behind a call, or a signal's restorer. */
UNWIND_GUESS_PART int unwind_is_return_at(struct unwind_view *view, unwind_u64 address)
{
	unwind_u64 caller, code, rule;
	unwind_u32 image;

	if (!view || !unwind_view_read(view, address, &caller) || caller < 4096 ||
	    caller >= UNWIND_USER_LIMIT || !unwind_view_find(view, caller - 1, &image, &rule))
		return false;
	if (RULE_KIND(rule) == RULE_SIGNAL)
		return true;
	return unwind_view_read_code(view, caller - 8, &code, sizeof(code)) && unwind_is_call(code);
}

/* Whether @fp, above @at, is where a caller saved a frame pointer below its return address. */
static inline bool unwind_is_frame(struct unwind_view *view, unwind_u64 at, unwind_u64 fp)
{
	return fp > at && fp - at < UNWIND_STACK_SPAN && !(fp & 7) &&
	       unwind_is_return_at(view, fp + 8);
}

/*
 * Whether the frame pointer of the caller that the word at @at returns to is known: it may have
 * been saved.
 */
UNWIND_GUESS_PART int unwind_guess_pointer(struct unwind_view *view, struct unwind_guess *guess,
					   unwind_u64 at)
{
	unwind_u64 saved;

	if (!view || !guess)
		return false;
	guess->caller_fp = guess->fp;
	if (unwind_is_frame(view, at, guess->fp))
		return true;
	for (unwind_u32 i = 1; i <= UNWIND_GUESS_SAVED; i++)
		if (unwind_view_read(view, at - 8 * i, &saved) &&
		    unwind_is_frame(view, at, saved)) {
			guess->caller_fp = saved;
			return true;
		}
	return false;
}

/*
 * Whether what is above @at is the frame of a caller with @rule, as far as that says. @is_direct:
 * it calls something else; code without rules calls other such code all the time. Generated code,
 * which no table is of, has frame pointers or nothing.
 */
static inline bool unwind_guess_holds(struct unwind_view *view, struct unwind_guess *guess,
				      unwind_u64 rule, unwind_u64 at, bool is_direct)
{
	if (RULE_KIND(rule) == RULE_UNKNOWN)
		return !is_direct;
	if (RULE_KIND(rule) == RULE_ODD || RULE_KIND(rule) >= N_RULE_KINDS)
		return at == guess->fp + 8;
	if (RULE_KIND(rule) != RULE_CFA || RULE_RA(rule) != RULE_RA_AT_CFA)
		return true;
	if (RULE_BASE(rule) == RULE_BASE_FP)
		return unwind_guess_pointer(view, guess, at);
	return RULE_BASE(rule) != RULE_BASE_SP ||
	       unwind_is_return_at(view, at + 8 + (unwind_u64)RULE_CFA_OFFSET(rule) +
						 (unwind_u64)RULE_RA_OFFSET(rule));
}

/* The address of the @i-th word to look at; 0: none. */
static inline unwind_u64 unwind_guess_address(const struct unwind_registers *r, unwind_u32 i)
{
	unwind_u32 other = (i - UNWIND_GUESS_WORDS) / UNWIND_GUESS_REGISTER_WORDS;
	unwind_u64 at;

	if (i < UNWIND_GUESS_WORDS)
		return r->sp + 8 * i;
	if (r->is_return || !unwind_base(r, RULE_BASE_OTHER + other, &at) || at & 7 ||
	    at - r->sp < 8 * UNWIND_GUESS_WORDS || at - r->sp >= UNWIND_GUESS_REGISTER_SPAN)
		return 0;
	return at + 8 * (i % UNWIND_GUESS_REGISTER_WORDS);
}

/* A word at @at that leads here, by a call of @target. */
static inline void unwind_guess_leads(struct unwind_view *view, struct unwind_guess *guess,
				      unwind_u64 at, unwind_u64 caller, unwind_u64 target)
{
	struct unwind_guess_word *best = &guess->leads;

	if (at != guess->fp + 8 && at > guess->sp + 8 && unwind_makes_frame(view, target))
		return;
	if (best->caller && target <= best->target &&
	    (target != best->target || at != guess->fp + 8))
		return;
	best->at = at;
	best->caller = caller;
	best->target = target;
}

/* The word at @at is @caller, a return address or anything else. */
static inline void unwind_guess_look(struct unwind_view *view, struct unwind_guess *guess,
				     unwind_u64 at, unwind_u64 caller)
{
	unwind_u64 code, rule, target;
	unwind_u32 image;
	int leads;

	if (caller < 4096 || caller >= UNWIND_USER_LIMIT ||
	    caller - guess->sp + UNWIND_STACK_SPAN < 2 * UNWIND_STACK_SPAN ||
	    !unwind_view_find(view, caller - 1, &image, &rule) ||
	    !unwind_view_read_code(view, caller - 8, &code, sizeof(code)))
		return;
	leads = unwind_call_leads(view, guess, caller, code, &target);
	if (leads == UNWIND_LEADS_HERE) {
		unwind_guess_leads(view, guess, at, caller, target);
	} else if (leads == UNWIND_MAY_LEAD && !guess->may_lead.caller &&
		   unwind_guess_holds(view, guess, rule, at, target)) {
		guess->may_lead.at = at;
		guess->may_lead.caller = caller;
	}
}

/* Looks at the word at @at. Returns whether there is no need to look further. */
UNWIND_GUESS_PART int unwind_guess_try(struct unwind_view *view, struct unwind_guess *guess,
				       unwind_u64 at)
{
	unwind_u64 caller;

	if (!view || !guess || (at ^ guess->unreadable) < UNWIND_GUESS_PAGE)
		return false;
	if (unwind_view_read(view, at, &caller))
		unwind_guess_look(view, guess, at, caller);
	else
		guess->unreadable = at & ~(UNWIND_GUESS_PAGE - 1ull);
	if (!guess->first && (guess->leads.caller || guess->may_lead.caller))
		guess->first = at;
	return guess->first && at - guess->first > 8 * UNWIND_GUESS_FURTHER;
}

/* The frame of @r is in @image, and without a rule. False: there is nothing to look at. */
static inline bool unwind_guess_begin(struct unwind_guess *guess, const struct unwind_registers *r,
				      unwind_u32 image)
{
	guess->pc = unwind_lookup_pc(r);
	guess->sp = r->sp;
	guess->fp = r->fp;
	guess->image = image;
	guess->first = 0;
	guess->unreadable = 0;
	guess->leads.caller = 0;
	guess->may_lead.caller = 0;
	return image && !r->has_pointers && !r->compat && !(r->sp & 7);
}

/*
 * Goes to the caller that was found. Where the frame pointer, which is looked at as well, leads to
 * the same word, that is no guess. Returns enum unwind_guessed.
 */
static inline int unwind_guess_end(struct unwind_view *view, struct unwind_guess *guess,
				   struct unwind_registers *r)
{
	const struct unwind_guess_word *found;

	if (r->known & UNWIND_KNOWN_FP && r->fp > r->sp && !(r->fp & 7))
		unwind_guess_try(view, guess, r->fp + 8);
	found = guess->leads.caller ? &guess->leads : &guess->may_lead;
	if (!found->caller)
		return UNWIND_GUESSED_NOTHING;
	if (r->known & UNWIND_KNOWN_FP && found->at == r->fp + 8)
		return UNWIND_GUESSED_POINTER;
	if (unwind_guess_pointer(view, guess, found->at))
		r->known |= UNWIND_KNOWN_FP;
	r->known &= UNWIND_KNOWN_FP | UNWIND_KNOWN_SCRATCH;
	r->pc = found->caller;
	r->sp = found->at + 8;
	r->fp = guess->caller_fp;
	r->is_return = 1;
	r->above_signal = 0;
	r->is_last = 0;
	r->is_guessed = 1;
	return UNWIND_GUESSED_CALLER;
}

#endif

#endif
