/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_UNWIND_BPF_H
#define PROFD_BPF_UNWIND_BPF_H

/*
 * The user stack, frame by frame: the mapping of the pc (roots.bpf.h, tables.bpf.h), the rule of
 * its image's table, the step of common/unwind/step.h; where a table has no rule, a guess
 * (common/unwind/guess.h); else the frame pointer. Where it ends, common/unwind/ends.h decides.
 * Frames are image and offset where the mapping has an image, else addresses.
 *
 * It ends at a root, at the depth the sampler may have, or because something is missing or wrong.
 * What is missing (a table, a mapping, a page of the stack) profd may be able to get:
 * u->unfinished; then u->r is the frame that it stopped at, and u->pushed says whether that is
 * among the frames already. What is wrong (a rule that cannot be followed, a pointer that leads
 * nowhere) is wrong for profd as well, which walks by the same steps (common/unwind/walk.c).
 *
 * A table says what instructions do, so the rule of an offset in an image is the same for ever, and
 * image numbers are never used again: each CPU keeps the rules that it found last by (image,
 * offset), and never has to forget one.
 *
 * The state lives in map memory, next to the record, not on the BPF stack: what is loaded from a
 * map is unknown to the verifier each time, so it needs to look at the loop's body only once.
 */
#include "bpf/abi.h"
#include "bpf/roots.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/tables.bpf.h"
#include "bpf/v8.bpf.h"

/*
 * What was read of the stack last. A step reads up to four words close to each other, and the next
 * one those above; each helper call costs as much as a good many bytes. A window lies within one
 * page: it can be read if the word that is asked for can.
 *
 * A page that cannot be read costs a fault, ten times a read. An honest walk ends at the first one,
 * or soon after; a stack that is made of them would hold up the CPU, interrupts off, for
 * milliseconds: so there is a bound. One for code as well, which need not be there: only restorers
 * are not known then.
 */
#define UNWIND_WINDOW_WORDS 32
#define UNWIND_WINDOW_BYTES (8 * UNWIND_WINDOW_WORDS)
#define UNWIND_WINDOW_BELOW 64 /* bytes: registers are saved below the return address */
#define UNWIND_FAULTS_MAX   16

struct unwind_code {
	__u16 n_faults;
};

struct unwind_memory {
	__u64 address;
	__u32 n_bytes; /* 0 or all */
	__u16 n_faults;
	struct unwind_code code;
	unwind_u64 straddling; /* what was read at an odd address last */
	__u64 words[UNWIND_WINDOW_WORDS];
};

static __always_inline bool unwind_read_bounded(__u16 *n_faults, unwind_u64 address, void *ret,
						unwind_u32 n_bytes)
{
	if (*n_faults >= UNWIND_FAULTS_MAX)
		return false;
	if (!bpf_probe_read_user(ret, n_bytes, (const void *)address))
		return true;
	++*n_faults;
	return false;
}

static __always_inline bool unwind_read_word(struct unwind_memory *memory, unwind_u64 address,
					     unwind_u64 *ret)
{
	return unwind_read_bounded(&memory->n_faults, address, ret, sizeof(*ret));
}

static __always_inline bool unwind_read_code(struct unwind_code *code, unwind_u64 address,
					     unwind_u64 *ret, unwind_u32 n_bytes)
{
	return unwind_read_bounded(&code->n_faults, address, ret, n_bytes);
}

/*
 * Reads the word at @address: into the window, with what is around it, or, where it straddles two
 * words, alone. Returns whether it could. A function of its own, as the steps read in many places:
 * what a tick costs on a busy CPU is, for the most part, the fetching of this program's code.
 */
__attribute__((noinline)) int unwind_refill(struct unwind_memory *memory, __u64 address)
{
	__u64 in_page = address & (UNWIND_PAGE - 1);
	__u64 from = in_page < UNWIND_WINDOW_BELOW ? 0 : in_page - UNWIND_WINDOW_BELOW;

	if (!memory)
		return 0;
	if (address & 7)
		return unwind_read_word(memory, address, &memory->straddling);
	if (from > UNWIND_PAGE - UNWIND_WINDOW_BYTES)
		from = UNWIND_PAGE - UNWIND_WINDOW_BYTES;
	memory->address = address - in_page + from;
	memory->n_bytes = 0;
	if (!unwind_read_bounded(&memory->n_faults, memory->address, memory->words,
				 sizeof(memory->words)))
		return 0;
	memory->n_bytes = sizeof(memory->words);
	return 1;
}

static inline bool unwind_read(struct unwind_memory *memory, unwind_u64 address, unwind_u64 *ret)
{
	__u64 at = address - memory->address;

	if (at >= memory->n_bytes || address & 7) {
		if (!unwind_refill(memory, address))
			return false;
		if (address & 7) {
			*ret = memory->straddling;
			return true;
		}
		at = address - memory->address;
	}
	at /= 8;
	__asm__ volatile("" : "+r"(at));
	if (at >= UNWIND_WINDOW_WORDS)
		return false;
	*ret = memory->words[at];
	return true;
}

#define UNWIND_HOST_MEMORY
#define UNWIND_RARE __attribute__((noinline)) /* code that is not fetched costs nothing */
#include "common/unwind/ends.h"
#include "common/unwind/step.h"

#if defined(__TARGET_ARCH_x86)
#define REGISTER_PC(r)     ((r)->ip)
#define REGISTER_SP(r)     ((r)->sp)
#define REGISTER_FP(r)     ((r)->bp)
#define REGISTER_USER(r)   (((r)->cs & 3) == 3)
#define REGISTER_COMPAT(r) (((r)->cs & 0xffff) == 0x23) /* __USER32_CS */
/*
 * What arch_prctl(2) or clone(2) set, as C libraries and Go do. A program that writes the register
 * itself is not seen until the next context switch.
 */
#define REGISTER_THREAD(task) \
	(bpf_core_field_exists((task)->thread.fsbase) ? (task)->thread.fsbase : 0)
/*
 * The entry code leaves the call's number here, and -1 for everything else. A signal that is about
 * to be delivered has its handler's address in ip already: in a call, rcx is what ip was.
 */
#define REGISTER_CALL(r)    ((r)->orig_ax)
#define REGISTER_SYSCALL(r) ((long)(r)->orig_ax >= 0 && (REGISTER_COMPAT(r) || (r)->cx == (r)->ip))
/* Code may use so much below the stack pointer without saying so (System V x86-64 ABI 3.2.2). */
#define REGISTER_RED_ZONE 128u
#elif defined(__TARGET_ARCH_arm64)
#define REGISTER_PC(r)        ((r)->pc)
#define REGISTER_SP(r)        ((r)->sp)
#define REGISTER_FP(r)        ((r)->regs[29])
#define REGISTER_USER(r)      (((r)->pstate & 0xf) == 0)
#define REGISTER_COMPAT(r)    (((r)->pstate & 0x10) != 0)
#define REGISTER_THREAD(task) 0 /* for RULE_GO, which is x86-64's */
#define REGISTER_CALL(r)      ((r)->syscallno)
#define REGISTER_SYSCALL(r)   ((r)->syscallno >= 0)
#define REGISTER_RED_ZONE     0u
#endif

#define UNWIND_CACHE_BITS 10

struct unwind_cached {
	__u64 frame, rule;
};

/* What a walk reads: the stack, code, mappings and tables. */
struct unwind_view {
	struct unwind_memory memory;
	struct unwind_root root;
	__u32 now_s;
};

static __always_inline bool unwind_view_read(struct unwind_view *view, unwind_u64 address,
					     unwind_u64 *ret)
{
	return unwind_read(&view->memory, address, ret);
}

static __always_inline bool unwind_view_read_code(struct unwind_view *view, unwind_u64 address,
						  unwind_u64 *ret, unwind_u32 n_bytes)
{
	return unwind_read_code(&view->memory.code, address, ret, n_bytes);
}

struct unwind_place;
static __always_inline bool unwind_view_find(struct unwind_view *view, unwind_u64 address,
					     struct unwind_place *ret);
static __always_inline unwind_u64 unwind_view_rule(struct unwind_view *view,
						   const struct unwind_place *place);

/* Global functions, as the searches are. */
#define UNWIND_GUESS_PART __attribute__((noinline))
#include "common/unwind/guess.h"
_Static_assert(TABLES_ABSENT == UNWIND_ABSENT, "UNWIND_ABSENT");

static __always_inline bool unwind_view_find(struct unwind_view *view, unwind_u64 address,
					     struct unwind_place *ret)
{
	__u32 index = tables_find_mapping(view->root.first, view->root.n, address);
	const struct unwind_mapping *m = bpf_map_lookup_elem(&mappings, &index);

	if (!m || address < m->start || address >= m->end)
		return false;
	ret->offset = address - m->start + m->offset;
	ret->image = m->image;
	ret->slot = m->slot;
	return true;
}

static __always_inline unwind_u64 unwind_view_rule(struct unwind_view *view,
						   const struct unwind_place *place)
{
	if (!place->image || place->offset >> 32 || place->slot == SLOT_NONE)
		return TABLES_NO_CFI;
	return tables_search(place->slot, place->offset, view->now_s);
}

struct unwind {
	struct unwind_registers r;      /* of the frame that is looked at */
	struct unwind_registers before; /* of the one below, where a frame pointer led here */
	struct unwind_mapping mapping;  /* the one found last */
	struct unwind_view view;
	struct unwind_guess guess;
	__u64 frame; /* what was pushed last */
	__u64 start_stack;
	__u64 start_code, end_code; /* of the program itself */
	__u32 first;                /* body[] index of the leaf */
	__u32 n;                    /* user frames so far */
	__u32 max;
	__u32 touched; /* slot whose use was noted last */
	__u8 quality, reason;
	__u8 unfinished, pushed;
	__u8 by_fp;   /* a frame pointer led to this frame */
	__u8 refused; /* only because its image's table was refused */
	__u8 has_root;
};

/* Bytes of an interpreter's frames. */
#define RUNTIME_BYTES (ABI_RUNTIME_MAX * sizeof(struct abi_runtime_entry))
/* Frames, registers, the copy of a stack, an interpreter's frames or what a page too much needs. */
#define BODY_BYTES                                                                             \
	(8 * ABI_FRAMES_MAX + sizeof(struct unwind_registers) + ABI_COPY_MAX + RUNTIME_BYTES + \
	 8 /* keeps what follows aligned */)
_Static_assert(RUNTIME_BYTES >= UNWIND_PAGE, "a page too much");
#define BODY_WORDS (BODY_BYTES / 8)

/* One per CPU: the record that is being built, and the walk that builds it. */
struct scratch {
	struct unwind unwind;
	struct unwind_cached cache[1 << UNWIND_CACHE_BITS];
	__u64 copy_address, copy_end; /* see rest.bpf.h */
	__u32 copy_at;
	__u32 n_complete;
	struct runtime runtime;
	struct abi_sample record;
	__u64 body[BODY_WORDS]; /* the record's */
};

struct unwind_context {
	struct scratch *scratch;
};

static __always_inline long unwind_end(struct unwind *u, __u8 quality, __u8 reason)
{
	u->quality = quality;
	u->reason = reason;
	return 1;
}

/* @end: an UNWIND_END(). */
static __always_inline long unwind_end_as(struct unwind *u, int end)
{
	u->unfinished = end == UNWIND_LACKS_MEMORY;
	return unwind_end(u, UNWIND_END_QUALITY(end), UNWIND_END_REASON(end));
}

static __always_inline long unwind_leave(struct unwind *u, __u8 reason)
{
	u->unfinished = 1;
	return unwind_end(u, STACK_BROKEN, reason);
}

static __always_inline bool unwind_push(struct scratch *s, __u64 frame)
{
	__u64 index = s->unwind.first + s->unwind.n;

	/* Keeps the compiler from checking one register and indexing with another. */
	__asm__ volatile("" : "+r"(index));
	if (index >= ABI_FRAMES_MAX)
		return false;
	s->body[index] = frame;
	s->unwind.n++;
	return true;
}

/* The steps as global functions, for the same reason as the searches. Never NULL. */
__attribute__((noinline)) int unwind_apply(struct unwind_registers *r, __u64 rule,
					   struct unwind_memory *memory)
{
	if (!r || !memory)
		return UNWIND_STEP_ODD;
	return unwind_step_rule(r, rule, memory);
}

__attribute__((noinline)) int unwind_apply_fp(struct unwind_registers *r,
					      struct unwind_memory *memory)
{
	if (!r || !memory)
		return UNWIND_STEP_ODD;
	return unwind_step_fp(r, memory);
}

/*
 * Nothing calls a signal's restorer: the kernel has made the handler return to its first byte. The
 * frame that was pushed last was looked up one byte too low. But for a leaf, in its system call.
 */
static __always_inline void unwind_was_exact(struct scratch *s)
{
	__u64 index = s->unwind.first + s->unwind.n - 1;

	__asm__ volatile("" : "+r"(index));
	if (s->unwind.n > 1 && index < ABI_FRAMES_MAX)
		s->body[index]++;
}

/*
 * The frame pointer of a function without rules may be anything. One that leads out of all code was
 * none: back to the frame before.
 */
static __always_inline long unwind_nowhere(struct unwind *u)
{
	if (!u->by_fp) {
		u->pushed = 0;
		return unwind_leave(u, BROKEN_UNMAPPED);
	}
	u->r = u->before;
	u->pushed = 1;
	return unwind_leave(u, UNWIND_END_REASON(UNWIND_BAD_POINTER(u->refused)));
}

/* The frame of u->r: finds its mapping and pushes it. Returns 1 if the walk ends here. */
static __always_inline long unwind_place(struct scratch *s)
{
	struct unwind *u = &s->unwind;
	__u64 pc = unwind_lookup_pc(&u->r), offset;
	struct unwind_mapping *m;
	__u32 index;

	if (pc < u->mapping.start || pc >= u->mapping.end) {
		index = tables_find_mapping(u->view.root.first, u->view.root.n, pc);
		m = bpf_map_lookup_elem(&mappings, &index);
		if (!m)
			return unwind_nowhere(u);
		u->mapping = *m;
		if (pc < u->mapping.start || pc >= u->mapping.end)
			return unwind_nowhere(u);
	}
	offset = pc - u->mapping.start + u->mapping.offset;
	u->frame = u->mapping.image && offset >> 32 == 0 ? ABI_FRAME_IMAGE(u->mapping.image, offset)
							 : pc;
	if (u->n >= u->max || !unwind_push(s, u->frame))
		return unwind_end(u, STACK_TRUNCATED, TRUNCATED_DEPTH);
	u->pushed = 1;
	return 0;
}

/* The rule of the frame that was pushed last, or TABLES_*. */
static __always_inline __u64 unwind_rule(struct scratch *s)
{
	struct unwind *u = &s->unwind;
	__u64 frame = u->frame, rule, index;
	__u32 slot = u->mapping.slot;

	if (slot == SLOT_NONE || u->r.compat || frame >> 60 == 0)
		return TABLES_NO_CFI;
	index = (frame * 0x9e3779b97f4a7c15ull) >> (64 - UNWIND_CACHE_BITS);
	__asm__ volatile("" : "+r"(index));
	index &= (1 << UNWIND_CACHE_BITS) - 1;
	if (s->cache[index].frame == frame) {
		if (slot != u->touched) {
			tables_touch(slot, u->view.now_s);
			u->touched = slot;
		}
		return s->cache[index].rule;
	}
	rule = tables_search(slot, (__u32)frame, u->view.now_s);
	if (RULE_KIND(rule) < N_RULE_KINDS) {
		s->cache[index].frame = frame;
		s->cache[index].rule = rule;
	}
	return rule;
}

#if defined(UNWIND_X86_64)
static long unwind_guess_next(__u32 i, struct unwind_context *context)
{
	struct unwind *u = &context->scratch->unwind;
	__u64 at = unwind_guess_address(&u->r, i);

	return at && unwind_guess_try(&u->view, &u->guess, at);
}

/* Returns enum unwind_guessed. */
static __always_inline int unwind_apply_guess(struct unwind_context *context)
{
	struct unwind *u = &context->scratch->unwind;

	if (!unwind_guess_begin(&u->guess, &u->r, u->mapping.image))
		return UNWIND_GUESSED_POINTER;
	bpf_loop(UNWIND_GUESS_STEPS, unwind_guess_next, context, 0);
	return unwind_guess_end(&u->view, &u->guess, &u->r);
}
#else
static __always_inline int unwind_apply_guess(struct unwind_context *context)
{
	(void)context;
	return UNWIND_GUESSED_POINTER;
}
#endif

/* @rule: RULE_UNKNOWN or TABLES_*. */
static __always_inline long unwind_without_rule(struct unwind_context *context, __u64 rule)
{
	struct scratch *s = context->scratch;
	struct unwind *u = &s->unwind;
	__u64 pc = unwind_lookup_pc(&u->r), sp = u->r.sp;
	int step, end, guessed = UNWIND_GUESSED_POINTER;
	bool refused = rule == TABLES_REFUSED;

	end = unwind_end_without_rule(&u->r, u->start_stack, u->start_code, u->end_code);
	if (end != UNWIND_GOES_ON)
		return unwind_end_as(u, end);
	if (RULE_KIND(rule) == RULE_UNKNOWN)
		guessed = unwind_apply_guess(context);
	if (guessed == UNWIND_GUESSED_TABLE || guessed == UNWIND_GUESSED_ENOUGH)
		return unwind_leave(u, guessed == UNWIND_GUESSED_TABLE ? BROKEN_NO_TABLE
								       : BROKEN_GUESSES);
	if (guessed == UNWIND_GUESSED_CALLER) {
		u->by_fp = 0;
		runtime_place(&s->runtime, u->n - 1, pc, sp, u->r.sp);
		return 0;
	}
	if (s->runtime.is_v8)
		v8_add_frame(&s->runtime, u->r.fp, u->n - 1, u->frame >> 60);
	u->before = u->r;
	step = unwind_apply_fp(&u->r, &u->view.memory);
	if (step != UNWIND_STEP_CALLER)
		return unwind_end_as(u, unwind_end_of_pointer(&u->r, step, refused));
	u->r.is_guessed |= guessed == UNWIND_GUESSED_NOTHING;
	u->by_fp = 1;
	u->refused = refused;
	runtime_place(&s->runtime, u->n - 1, pc, sp, u->r.sp);
	return 0;
}

static long unwind_frame(__u32 i, struct unwind_context *context)
{
	struct scratch *s = context->scratch;
	struct unwind *u = &s->unwind;
	__u64 rule, pc = unwind_lookup_pc(&u->r), sp = u->r.sp;
	bool is_return;
	int step;

	(void)i;
	if (unwind_place(s))
		return 1;
	rule = unwind_rule(s);
	switch (RULE_KIND(rule)) {
	case RULE_KIND(TABLES_ABSENT):
		return unwind_leave(u, BROKEN_NO_TABLE);
	case RULE_UNKNOWN:
	case RULE_KIND(TABLES_NO_CFI):
	case RULE_KIND(TABLES_REFUSED):
		if (!unwind_is_restorer(&u->r, &u->view.memory.code))
			return unwind_without_rule(context, rule);
		rule = RULE_WORD(RULE_SIGNAL);
	}
	is_return = u->r.is_return;
	step = unwind_apply(&u->r, rule, &u->view.memory);
	if (step != UNWIND_STEP_CALLER)
		return unwind_end_as(u, unwind_end_of_rule(&u->r, rule, step, u->start_stack));
	if (RULE_KIND(rule) == RULE_SIGNAL && is_return)
		unwind_was_exact(s);
	u->by_fp = 0;
	runtime_place(&s->runtime, u->n - 1, pc, sp, u->r.sp);
	return 0;
}

/*
 * The vsyscall page (arch/x86/entry/vsyscall) has no mapping that anybody could see, and no frame
 * to give, but a caller: its code pushes nothing.
 */
static __always_inline void unwind_skip_vsyscall(struct unwind *u)
{
	unwind_u64 pc;

	if (u->r.pc < UNWIND_USER_LIMIT || !unwind_read_word(&u->view.memory, u->r.sp, &pc))
		return;
	u->r.pc = pc;
	u->r.sp += 8;
	u->r.is_return = 1;
}

static __always_inline void unwind_walk(struct scratch *s)
{
	struct unwind_context context = {.scratch = s};
	struct unwind *u = &s->unwind;

	unwind_skip_vsyscall(u);
	/* No user code is there, but other kinds of frames are (common/frame.h). */
	if (unwind_lookup_pc(&u->r) >= UNWIND_USER_LIMIT) {
		unwind_end(u, STACK_BROKEN, BROKEN_UNMAPPED);
		return;
	}
	if (u->has_root) {
		unwind_end(u, STACK_TRUNCATED, TRUNCATED_DEPTH);
		bpf_loop(ABI_USER_FRAMES_MAX + 1, unwind_frame, &context, 0);
	} else if (u->r.sp == u->start_stack && unwind_is_at_start(&u->r, u->start_stack)) {
		/* Exactly there: a function that was called may have rules that profd knows of. */
		unwind_push(s, unwind_lookup_pc(&u->r));
		unwind_end(u, STACK_COMPLETE, 0);
	} else {
		unwind_leave(u, BROKEN_UNMAPPED);
	}
}

/*
 * @r: the registers as the entry code or the interrupt saved them; anything of the same names. In a
 * system call rax, rcx and r11 are not what they were.
 */
#if defined(__TARGET_ARCH_x86)
#define UNWIND_TAKE_OTHER(u, r, base, name) ((u)->others[(base)-RULE_BASE_OTHER] = (r)->name)
#define UNWIND_TAKE_OTHERS(u, r)                                                                  \
	do {                                                                                      \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_AX, ax);                                        \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_BX, bx);                                        \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_CX, cx);                                        \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_DX, dx);                                        \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_R10, r10);                                      \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_R11, r11);                                      \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_DI, di);                                        \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_SI, si);                                        \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_R8, r8);                                        \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_R9, r9);                                        \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_R12, r12);                                      \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_R13, r13);                                      \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_R14, r14);                                      \
		UNWIND_TAKE_OTHER(u, r, RULE_BASE_R15, r15);                                      \
		(u)->known = UNWIND_KNOWN_FP | ((1u << UNWIND_OTHERS) - 1);                       \
		if ((u)->is_return)                                                               \
			(u)->known &= ~(UNWIND_KNOWN(RULE_BASE_AX) | UNWIND_KNOWN(RULE_BASE_CX) | \
					UNWIND_KNOWN(RULE_BASE_R11));                             \
	} while (0)
#else
#define UNWIND_TAKE_OTHERS(u, r)                                             \
	do {                                                                 \
		(u)->others[RULE_BASE_LR - RULE_BASE_OTHER] = (r)->regs[30]; \
		(u)->known = UNWIND_KNOWN_FP | UNWIND_KNOWN(RULE_BASE_LR);   \
	} while (0)
#endif

#define UNWIND_TAKE_REGISTERS(u, r, in_syscall)     \
	do {                                        \
		(u)->pc = REGISTER_PC(r);           \
		(u)->sp = REGISTER_SP(r);           \
		(u)->fp = REGISTER_FP(r);           \
		(u)->is_return = (in_syscall);      \
		(u)->above_signal = 0;              \
		(u)->compat = !!REGISTER_COMPAT(r); \
		(u)->is_last = 0;                   \
		(u)->is_guessed = 0;                \
		UNWIND_TAKE_OTHERS(u, r);           \
	} while (0)

/* In the middle of exec: the registers are the old program's, the memory may be the new one's. */
static __always_inline bool unwind_in_exec(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/*
 * The leaf's registers to u->r: @user_regs if @user, else those that the task entered the kernel
 * with. False: there are none.
 */
static __always_inline bool unwind_take_leaf(struct unwind *u, struct task_struct *task,
					     const struct context_registers *user_regs, bool user)
{
	struct pt_regs *regs;

	u->r.thread = REGISTER_THREAD(task);
	u->r.system_sp = 0;
	if (user) {
		UNWIND_TAKE_REGISTERS(&u->r, user_regs, 0);
		return true;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!regs)
		return false;
	UNWIND_TAKE_REGISTERS(&u->r, regs, REGISTER_SYSCALL(regs));
	/* A program that was just executed "returns" from its system call to its first byte. */
	if (unwind_is_at_start(&u->r, u->start_stack))
		u->r.is_return = 0;
	return true;
}

static __always_inline void unwind_begin(struct unwind *u, struct task_struct *task, __u32 first,
					 __u32 max)
{
	struct mm_struct *mm = task->mm;

	u->first = first;
	u->n = 0;
	u->max = max;
	u->unfinished = 0;
	u->pushed = 0;
	u->by_fp = 0;
	u->refused = 0;
	u->has_root = 0;
	u->touched = SLOT_NONE;
	u->mapping.end = 0;
	u->view.memory.n_bytes = 0;
	u->view.memory.n_faults = 0;
	u->view.memory.code.n_faults = 0;
	u->guess.work = 0;
	u->start_stack = mm ? mm->start_stack : 0;
	u->start_code = mm ? mm->start_code : 0;
	u->end_code = mm ? mm->end_code : 0;
}

/*
 * Walks the user stack of @task, the current one, whose pid the record has, into the frames from
 * @first on. @user: it was interrupted in user mode, with @user_regs.
 */
static __always_inline void unwind_user(struct scratch *s, struct task_struct *task,
					const struct context_registers *user_regs, bool user,
					__u32 first, __u32 max)
{
	struct unwind *u = &s->unwind;

	unwind_begin(u, task, first, max);
	s->runtime.n = 0;
	s->runtime.n_ends = 0;
	s->runtime.is_v8 = 0;
	if (task->flags & PF_KTHREAD) {
		unwind_end(u, STACK_COMPLETE, 0);
		return;
	}
	if (!user && (task->flags & PF_EXITING || !task->mm || unwind_in_exec(task))) {
		unwind_end(u, STACK_NO_USER, 0);
		return;
	}
	if (!unwind_take_leaf(u, task, user_regs, user)) {
		unwind_end(u, STACK_BROKEN, BROKEN_NO_REGISTERS);
		return;
	}
	/* A worker that the kernel made inside a process (io_uring): no user side at all. */
	if (!u->r.pc && !u->r.sp) {
		unwind_end(u, STACK_COMPLETE, 0);
		return;
	}
	u->has_root = roots_find(s->record.pid, &u->view.root);
	runtime_begin(&s->runtime, task, &s->record, u->start_code, u->r.thread,
		      u->has_root ? &u->view.root : NULL);
	u->r.has_pointers = s->runtime.is_v8; /* its builtins */
	unwind_walk(s);
	if (u->unfinished && s->runtime.is_v8)
		v8_follow(&s->runtime, u->r.fp);
	if (s->runtime.is_broken)
		__sync_fetch_and_add(&runtime_broken, 1);
}

#endif
