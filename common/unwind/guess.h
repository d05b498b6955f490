/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_UNWIND_GUESS_H
#define PROFD_COMMON_UNWIND_GUESS_H

/*
 * The caller of code that an image's table has no rules for, which is assembly, mostly: a word of
 * the stack, not far above its pointer, that looks like the return address. x86-64; elsewhere
 * nothing is found. Return addresses that earlier calls left behind look the same, so this is a
 * guess, and the stack says so.
 *
 * A word may be the return address if a call instruction ends there that
 *
 *   leads here: to code without rules, of the same image, at the pc or a little before. Of several
 *   such words the one counts whose function begins last, as no function begins between the
 *   beginning of that one and the pc; of several calls of one function the one at the frame
 *   pointer, else the first. A function that sets up a frame pointer has its return address at
 *   that, or has no frame (yet, or any more).
 *
 *   may lead here: to other code without rules there, which may jump here, or to what a register
 *   or memory had then. The first such word counts if there is none of the others; where it goes
 *   through memory that cannot be read, only if there is no other at all.
 *
 * Of both, the next return address has to be where the rule of the caller has it, as far as that
 * can be known. A signal's restorer, which nothing calls, counts if nothing came before it, and
 * nothing behind it does.
 *
 * Calls through a stub (of a procedure linkage table) or a word of memory (of a global offset
 * table) lead to what is there now. Calls to code with rules do not lead here, unless that jumps.
 *
 * A function that has aligned its stack, or made room for whole tables, has kept the pointer that
 * it had before: behind the first words are those that a leaf's registers point to.
 *
 * A stack can be made of words that are as much work as can be: UNWIND_GUESS_WORK bounds what all
 * guesses of a walk do.
 *
 * The host defines, before it includes this file, what ends.h needs, and
 *
 *   struct unwind_view;
 *   static bool unwind_view_read(struct unwind_view *view, unwind_u64 address, unwind_u64 *ret);
 *           a word of data
 *   static bool unwind_view_read_code(struct unwind_view *view, unwind_u64 address,
 *                                     unwind_u64 *ret, unwind_u32 n_bytes);
 *           code, 8 or 16 bytes
 *   static bool unwind_view_find(struct unwind_view *view, unwind_u64 address,
 *                                struct unwind_place *ret);
 *           false: there is no code
 *   static unwind_u64 unwind_view_rule(struct unwind_view *view, const struct unwind_place *place);
 *           RULE_UNKNOWN: a table has none. UNWIND_ABSENT: the table is not there yet. Where there
 *           is no table, RULE_ODD or a kind behind N_RULE_KINDS
 *
 * and may define UNWIND_GUESS_PART, which goes before the return types of the larger functions. It
 * calls unwind_guess_begin(), unwind_guess_try() for the address of each of UNWIND_GUESS_STEPS
 * until that says that it is enough, and unwind_guess_end().
 */
#include "common/unwind/ends.h"
#include "common/unwind/layout.h"

#ifndef UNWIND_GUESS_PART
#define UNWIND_GUESS_PART static
#endif
/* Of a walk: words that are looked at; what else is read or searched is as much as many of them. */
#define UNWIND_GUESS_WORK (1u << 14)
#define UNWIND_GUESS_FIND 16u

/* From the stack pointer on, and from each register. */
#define UNWIND_GUESS_WORDS          1024u
#define UNWIND_GUESS_REGISTER_WORDS 32u
#define UNWIND_GUESS_STEPS          (UNWIND_GUESS_WORDS + UNWIND_OTHERS * UNWIND_GUESS_REGISTER_WORDS)
/* A register that points further above the stack pointer is ignored. */
#define UNWIND_GUESS_REGISTER_SPAN 65536u
/* As large as a function without rules may be, and a stub. */
#define UNWIND_GUESS_FUNCTION 16384u
#define UNWIND_GUESS_STUB     16u
/* As far below its return address as a function saves its caller's frame pointer. */
#define UNWIND_GUESS_SAVED 16u
#define UNWIND_GUESS_PAGE  4096u
/* Words in which a better one is looked for, behind one that leads here, or may. */
#define UNWIND_GUESS_BEHIND     32u
#define UNWIND_GUESS_BEHIND_MAY 128u

/* What a rule's kind is where a table is not loaded. */
#define UNWIND_ABSENT RULE_WORD(15)

/* Where code is: an offset in an image, and the slot of its table. */
struct unwind_place {
	unwind_u64 offset;
	unwind_u32 image, slot;
};

/* A return address, where on the stack it is, and the function that was called; caller 0: none. */
struct unwind_guess_word {
	unwind_u64 caller, at, target;
};

struct unwind_guess {
	unwind_u64 pc, sp;     /* of the code without rules */
	unwind_u64 fp;         /* 0: unknown, or below sp */
	unwind_u64 caller_fp;  /* the frame pointer of the caller that was looked at last */
	unwind_u64 unreadable; /* what could not be read last: the page is left alone */
	unwind_u64 first;      /* the address of the first word that was found; 0: none */
	unwind_u64 from;       /* and of the one behind which there is not much more to look at */
	unwind_u64 absent_at;  /* and of the first one whose table is absent */
	struct unwind_guess_word leads, may_lead;
	/* What is looked at: the caller's place, any other, and code. Here, as stacks are small. */
	struct unwind_place place, other;
	unwind_u64 code[2];
	unwind_u32 image;
	unwind_u32 work;     /* that was done in the whole walk */
	unwind_u32 absent;   /* the slot of a table that is wanted; SLOT_NONE: none */
	unwind_u8 has_frame; /* leads is where a function with a frame pointer has it */
	unwind_u8 is_unread; /* may_lead goes through memory that cannot be read */
	unwind_u8 is_over;   /* what comes behind belongs to others */
};

/* Results of a guess. */
enum unwind_guessed {
	UNWIND_GUESSED_CALLER,  /* the registers are the caller's now */
	UNWIND_GUESSED_POINTER, /* it is the frame pointer's: unwind_step_fp(), which is no guess */
	UNWIND_GUESSED_NOTHING, /* nothing else than the frame pointer: that is one */
	UNWIND_GUESSED_TABLE,   /* needs the table of guess->absent */
	UNWIND_GUESSED_ENOUGH,  /* the walk has done all the work that it may */
};

#if defined(UNWIND_X86_64)

/* Whether a call leads to the code without rules. */
enum unwind_leads {
	UNWIND_LEADS_ELSEWHERE,
	UNWIND_MAY_LEAD,
	UNWIND_MAY_LEAD_UNREAD, /* by a word that cannot be read */
	UNWIND_MAY_LEAD_ON,     /* to other code without rules */
	UNWIND_LEADS_HERE,
};

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
#define UNWIND_IS_DIRECT(code) (UNWIND_BYTE(code, 3) == 0xe8)
/* call *offset(%rip) */
#define UNWIND_IS_THROUGH(code) (((code) >> 16 & 0xffff) == 0x15ff)
/* The last four of them, which are relative to what follows. */
#define UNWIND_RELATIVE(code) ((unwind_u64)((unwind_s64)(code) >> 32))

static inline bool unwind_is_indirect(unwind_u64 code)
{
	for (unwind_u32 i = 1; i <= 6; i++)
		if (UNWIND_BYTE(code, i) == 0xff && (UNWIND_BYTE(code, i + 1) & 0x38) == 0x10 &&
		    i + unwind_call_bytes(UNWIND_BYTE(code, i + 1),
					  i < 6 ? UNWIND_BYTE(code, i + 2) : 0) ==
			    8)
			return true;
	return false;
}

static inline bool unwind_is_call(unwind_u64 code)
{
	return UNWIND_IS_DIRECT(code) || unwind_is_indirect(code);
}

/* Whether there may be as much work as something else than a word takes. */
static inline bool unwind_guess_may(struct unwind_guess *guess)
{
	guess->work += UNWIND_GUESS_FIND;
	return guess->work <= UNWIND_GUESS_WORK;
}

static inline bool unwind_guess_find(struct unwind_view *view, struct unwind_guess *guess,
				     unwind_u64 address, struct unwind_place *ret)
{
	return unwind_guess_may(guess) && unwind_view_find(view, address, ret);
}

/* Eight bytes of a function's code, behind the mark of where indirect calls may lead. */
static inline bool unwind_read_entry(struct unwind_view *view, struct unwind_guess *guess,
				     unwind_u64 *address, unwind_u64 *ret)
{
	if (!unwind_view_read_code(view, *address, guess->code, sizeof(guess->code)))
		return false;
	*ret = guess->code[0];
	if ((*ret & 0xffffffff) == 0xfa1e0ff3) { /* endbr64 */
		*ret = guess->code[0] >> 32 | guess->code[1] << 32;
		*address += 4;
	}
	return true;
}

/* The word that the stub at @address jumps to; 0: it is no stub. */
static inline unwind_u64 unwind_stub_word(struct unwind_view *view, struct unwind_guess *guess,
					  unwind_u64 address)
{
	unwind_u64 jump;

	if (!unwind_read_entry(view, guess, &address, &jump))
		return 0;
	if ((jump & 0xff) == 0xf2) { /* bnd */
		jump >>= 8;
		address++;
	}
	if ((jump & 0xffff) != 0x25ff) /* jmp *offset(%rip) */
		return 0;
	return address + 6 + (unwind_u64)((unwind_s64)(jump << 16) >> 32);
}

/* Whether the function at @address sets up a frame pointer first. */
static inline bool unwind_makes_frame(struct unwind_view *view, struct unwind_guess *guess,
				      unwind_u64 address)
{
	unwind_u64 code;

	if (!unwind_read_entry(view, guess, &address, &code))
		return false;
	/* push %rbp; mov %rsp, %rbp, which has two encodings */
	return (code & 0xffffffff) == 0xe5894855 || (code & 0xffffffff) == 0xec8b4855;
}

/* Whether @target is code without rules in the image of the pc. */
static inline bool unwind_guess_is_near(struct unwind_view *view, struct unwind_guess *guess,
					unwind_u64 target)
{
	return unwind_guess_find(view, guess, target, &guess->other) &&
	       guess->other.image == guess->image &&
	       RULE_KIND(unwind_view_rule(view, &guess->other)) == RULE_UNKNOWN;
}

static inline int unwind_target_leads(struct unwind_view *view, struct unwind_guess *guess,
				      unwind_u64 target)
{
	if (!unwind_guess_is_near(view, guess, target))
		return UNWIND_LEADS_ELSEWHERE;
	return guess->pc - target < UNWIND_GUESS_FUNCTION ? UNWIND_LEADS_HERE : UNWIND_MAY_LEAD_ON;
}

/* By the word at @word of memory. */
static inline int unwind_word_leads(struct unwind_view *view, struct unwind_guess *guess,
				    unwind_u64 word, unwind_u64 *ret_target)
{
	if (!unwind_guess_may(guess) || !unwind_view_read(view, word, ret_target))
		return UNWIND_MAY_LEAD_UNREAD;
	return unwind_target_leads(view, guess, *ret_target);
}

/* A call of @target, or of what is behind it if it is a stub; the stub itself may be the pc's. */
static inline int unwind_direct_leads(struct unwind_view *view, struct unwind_guess *guess,
				      unwind_u64 target, unwind_u64 *ret_target)
{
	unwind_u64 word;

	*ret_target = target;
	if (guess->pc - target < UNWIND_GUESS_STUB)
		return unwind_target_leads(view, guess, target);
	if (!unwind_guess_find(view, guess, target, &guess->other))
		return UNWIND_LEADS_ELSEWHERE;
	word = unwind_stub_word(view, guess, target);
	return word ? unwind_word_leads(view, guess, word, ret_target)
		    : unwind_target_leads(view, guess, target);
}

/*
 * @code: the eight bytes before @caller. @ret_target: where the call that they end with leads, if
 * it leads here. Returns enum unwind_leads.
 */
static inline int unwind_call_leads(struct unwind_view *view, struct unwind_guess *guess,
				    unwind_u64 caller, unwind_u64 code, unwind_u64 *ret_target)
{
	int leads = UNWIND_LEADS_ELSEWHERE;

	*ret_target = 0;
	if (UNWIND_IS_DIRECT(code))
		leads = unwind_direct_leads(view, guess, caller + UNWIND_RELATIVE(code),
					    ret_target);
	else if (UNWIND_IS_THROUGH(code))
		return unwind_word_leads(view, guess, caller + UNWIND_RELATIVE(code), ret_target);
	if (leads == UNWIND_LEADS_ELSEWHERE && unwind_is_indirect(code))
		return UNWIND_MAY_LEAD;
	return leads;
}

/* Whether the word at @address is behind a call, or a signal's restorer. */
UNWIND_GUESS_PART int unwind_is_return_at(struct unwind_view *view, struct unwind_guess *guess,
					  unwind_u64 address)
{
	unwind_u64 caller, code;

	if (!view || !guess || !unwind_guess_may(guess) ||
	    !unwind_view_read(view, address, &caller) || caller < 4096 ||
	    caller >= UNWIND_USER_LIMIT ||
	    !unwind_guess_find(view, guess, caller - 1, &guess->other))
		return false;
	if (unwind_view_read_code(view, caller - 8, &code, sizeof(code)) && unwind_is_call(code))
		return true;
	return RULE_KIND(unwind_view_rule(view, &guess->other)) == RULE_SIGNAL;
}

/* Whether @fp, above @at, is where a caller saved a frame pointer below its return address. */
static inline bool unwind_is_frame(struct unwind_view *view, struct unwind_guess *guess,
				   unwind_u64 at, unwind_u64 fp)
{
	return fp > at && fp - at < UNWIND_STACK_SPAN && !(fp & 7) &&
	       unwind_is_return_at(view, guess, fp + 8);
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
	if (unwind_is_frame(view, guess, at, guess->fp))
		return true;
	for (unwind_u32 i = 1; i <= UNWIND_GUESS_SAVED && at - guess->sp >= 8 * i; i++)
		if (unwind_view_read(view, at - 8 * i, &saved) &&
		    unwind_is_frame(view, guess, at, saved)) {
			guess->caller_fp = saved;
			return true;
		}
	return false;
}

/*
 * Whether what is above @at is the frame of a caller with @rule, as far as the rule can tell. Code
 * without rules calls other such code all the time; generated code, which no table is of, has frame
 * pointers or nothing.
 */
static inline bool unwind_guess_holds(struct unwind_view *view, struct unwind_guess *guess,
				      unwind_u64 rule, unwind_u64 at, int leads)
{
	unwind_u64 above = (unwind_u64)RULE_CFA_OFFSET(rule) + (unwind_u64)RULE_RA_OFFSET(rule);

	if (RULE_KIND(rule) == RULE_UNKNOWN)
		return leads == UNWIND_MAY_LEAD || leads == UNWIND_LEADS_HERE;
	if (RULE_KIND(rule) == RULE_ODD || RULE_KIND(rule) >= N_RULE_KINDS)
		return leads == UNWIND_LEADS_HERE || at == guess->fp + 8;
	if (RULE_KIND(rule) != RULE_CFA || RULE_RA(rule) != RULE_RA_AT_CFA)
		return leads != UNWIND_MAY_LEAD_UNREAD;
	if (RULE_BASE(rule) == RULE_BASE_SP)
		return unwind_is_return_at(view, guess, at + 8 + above);
	if (RULE_BASE(rule) != RULE_BASE_FP)
		return leads != UNWIND_MAY_LEAD_UNREAD;
	return leads == UNWIND_LEADS_HERE || (above == 8 && unwind_guess_pointer(view, guess, at));
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
	bool makes_frame = unwind_makes_frame(view, guess, target);

	if (makes_frame && guess->fp && at != guess->fp + 8 && at > guess->sp + 8)
		return;
	if (best->caller && target <= best->target &&
	    (target != best->target || at != guess->fp + 8))
		return;
	best->at = at;
	best->caller = caller;
	best->target = target;
	guess->has_frame = makes_frame && at == guess->fp + 8;
}

static inline void unwind_guess_may_lead(struct unwind_guess *guess, unwind_u64 at,
					 unwind_u64 caller, bool is_unread)
{
	if (guess->may_lead.caller && (is_unread || !guess->is_unread))
		return;
	guess->may_lead.at = at;
	guess->may_lead.caller = caller;
	guess->is_unread = is_unread;
}

/* Whether behind @at is the frame of a signal: the pc that it has is code. */
static inline bool unwind_guess_restores(struct unwind_view *view, struct unwind_guess *guess,
					 unwind_u64 at)
{
	unwind_u64 pc;

	return unwind_guess_may(guess) && unwind_view_read(view, at + 8 + UNWIND_SIGNAL_PC, &pc) &&
	       unwind_guess_find(view, guess, pc, &guess->other);
}

/* A word at @at that leads here or may, or a restorer. */
static inline void unwind_guess_take(struct unwind_view *view, struct unwind_guess *guess,
				     unwind_u64 at, unwind_u64 caller, unwind_u64 code)
{
	unwind_u64 target, rule;
	int leads = unwind_call_leads(view, guess, caller, code, &target);

	if (leads == UNWIND_LEADS_ELSEWHERE && unwind_is_call(code))
		return;
	rule = unwind_view_rule(view, &guess->place);
	if (RULE_KIND(rule) == RULE_SIGNAL && unwind_guess_restores(view, guess, at)) {
		guess->is_over = 1;
		leads = UNWIND_MAY_LEAD;
	}
	if (leads == UNWIND_LEADS_ELSEWHERE)
		return;
	if (leads != UNWIND_LEADS_HERE && rule == UNWIND_ABSENT) {
		if (guess->absent == SLOT_NONE) {
			guess->absent_at = at;
			guess->absent = guess->place.slot;
		}
		return;
	}
	if (!unwind_guess_holds(view, guess, rule, at, leads))
		return;
	if (leads == UNWIND_LEADS_HERE)
		unwind_guess_leads(view, guess, at, caller, target);
	else
		unwind_guess_may_lead(guess, at, caller, leads == UNWIND_MAY_LEAD_UNREAD);
}

static inline void unwind_guess_look(struct unwind_view *view, struct unwind_guess *guess,
				     unwind_u64 at)
{
	unwind_u64 caller, code;

	if ((at ^ guess->unreadable) < UNWIND_GUESS_PAGE)
		return;
	if (!unwind_view_read(view, at, &caller)) {
		guess->unreadable = at & ~(UNWIND_GUESS_PAGE - 1ull);
		return;
	}
	if (caller < 4096 || caller >= UNWIND_USER_LIMIT ||
	    !unwind_guess_find(view, guess, caller - 1, &guess->place) ||
	    !unwind_view_read_code(view, caller - 8, &code, sizeof(code)))
		return;
	unwind_guess_take(view, guess, at, caller, code);
}

/* Looks at the word at @at. Returns whether there is no need to look further. */
UNWIND_GUESS_PART int unwind_guess_try(struct unwind_view *view, struct unwind_guess *guess,
				       unwind_u64 at)
{
	bool had_leads;

	if (!view || !guess || ++guess->work > UNWIND_GUESS_WORK)
		return true;
	had_leads = guess->leads.caller;
	unwind_guess_look(view, guess, at);
	if (!guess->first && (guess->leads.caller || (guess->may_lead.caller && !guess->is_unread)))
		guess->first = guess->from = at;
	if (guess->leads.caller && !had_leads)
		guess->from = at;
	if (guess->is_over || (guess->has_frame && at > guess->fp))
		return true;
	return guess->from && at > guess->from &&
	       at - guess->from >
		       8 * (guess->leads.caller ? UNWIND_GUESS_BEHIND : UNWIND_GUESS_BEHIND_MAY);
}

/*
 * The frame of @r is in @image, and without a rule. False: there is nothing to look at. @guess: as
 * the walk's last one left it, or zeroes.
 */
static inline bool unwind_guess_begin(struct unwind_guess *guess, const struct unwind_registers *r,
				      unwind_u32 image)
{
	guess->pc = unwind_lookup_pc(r);
	guess->sp = r->sp;
	guess->fp = r->known & UNWIND_KNOWN_FP && r->fp >= r->sp && !(r->fp & 7) ? r->fp : 0;
	guess->image = image;
	guess->absent = SLOT_NONE;
	guess->unreadable = 0;
	guess->first = 0;
	guess->from = 0;
	guess->absent_at = 0;
	guess->is_unread = 0;
	guess->leads.caller = 0;
	guess->may_lead.caller = 0;
	guess->has_frame = 0;
	guess->is_over = 0;
	return image && !r->has_pointers && !r->compat && !(r->sp & 7);
}

/* To the caller of @found. */
static inline void unwind_guess_step(struct unwind_view *view, struct unwind_guess *guess,
				     const struct unwind_guess_word *found,
				     struct unwind_registers *r)
{
	r->known &= UNWIND_KNOWN_FP | UNWIND_KNOWN_SCRATCH;
	if (unwind_guess_pointer(view, guess, found->at)) {
		r->fp = guess->caller_fp;
		r->known |= UNWIND_KNOWN_FP;
	}
	r->pc = found->caller;
	r->sp = found->at + 8;
	r->is_return = 1;
	r->above_signal = 0;
	r->is_last = 0;
	r->is_guessed = 1;
}

/*
 * Goes to the caller that was found. The frame pointer, which is looked at as well, is no guess if
 * it leads to the same word, that is the first one, and the function sets up a frame pointer.
 * Returns enum unwind_guessed.
 */
UNWIND_GUESS_PART int unwind_guess_end(struct unwind_view *view, struct unwind_guess *guess,
				       struct unwind_registers *r)
{
	const struct unwind_guess_word *found;

	if (!view || !guess || !r)
		return UNWIND_GUESSED_NOTHING;
	if (guess->fp && !guess->is_over)
		unwind_guess_try(view, guess, guess->fp + 8);
	found = guess->leads.caller ? &guess->leads : &guess->may_lead;
	if (guess->work > UNWIND_GUESS_WORK)
		return UNWIND_GUESSED_ENOUGH;
	if (!guess->leads.caller && guess->absent != SLOT_NONE &&
	    (!found->caller || guess->absent_at < found->at))
		return UNWIND_GUESSED_TABLE;
	if (!found->caller)
		return UNWIND_GUESSED_NOTHING;
	if (guess->fp && found->at == guess->fp + 8)
		return guess->has_frame && found->at == guess->first ? UNWIND_GUESSED_POINTER
								     : UNWIND_GUESSED_NOTHING;
	unwind_guess_step(view, guess, found, r);
	return UNWIND_GUESSED_CALLER;
}

#endif

#endif
