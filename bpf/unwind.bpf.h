/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_UNWIND_BPF_H
#define PROFD_BPF_UNWIND_BPF_H

/*
 * The user stack, by frame pointers. Each frame begins with two words: the caller's frame pointer
 * and the return address; the chain ends in a saved frame pointer of zero (System V x86-64 ABI
 * 3.4.1 "the deepest stack frame"; AAPCS64 6.4.6). Own loop instead of bpf_get_stack(), because
 * that does not say why it ended.
 *
 * A frame pointer is believed when it is aligned, in the user half, and above the one before it
 * (the first: not below the stack pointer). Code built without frame pointers uses the register
 * for anything, so this is where its walks break. In such a function, and in the first and
 * last instructions of any, the direct caller is missing from the chain.
 *
 * The state lives in map memory, next to the record, not on the BPF stack: what is loaded from a
 * map is unknown to the verifier each time, so it needs to look at the loop's body only once.
 */
#include "bpf/abi.h"

#if defined(__TARGET_ARCH_x86)
#define REGISTER_PC(r)     ((r)->ip)
#define REGISTER_SP(r)     ((r)->sp)
#define REGISTER_FP(r)     ((r)->bp)
#define REGISTER_USER(r)   (((r)->cs & 3) == 3)
#define REGISTER_COMPAT(r) (((r)->cs & 0xffff) == 0x23) /* __USER32_CS */
/* The entry code leaves the call's number here, and -1 for everything else. */
#define REGISTER_SYSCALL(r) ((long)(r)->orig_ax >= 0)
#define COMPAT_WALKABLE     1
#define USER_LIMIT          (1ull << 56) /* five-level page tables */
#define RETURN_MASK         (~0ull)
#elif defined(__TARGET_ARCH_arm64)
#define REGISTER_PC(r)      ((r)->pc)
#define REGISTER_SP(r)      ((r)->sp)
#define REGISTER_FP(r)      ((r)->regs[29])
#define REGISTER_USER(r)    (((r)->pstate & 0xf) == 0)
#define REGISTER_COMPAT(r)  (((r)->pstate & 0x10) != 0)
#define REGISTER_SYSCALL(r) ((r)->syscallno >= 0)
#define COMPAT_WALKABLE     0 /* 32-bit ARM code has no one frame layout */
#define USER_LIMIT          (1ull << 52)
#define RETURN_MASK         ((1ull << 48) - 1) /* drops the pointer authentication code */
#endif

struct unwind {
	__u64 pc, sp, fp;
	__u32 first; /* frames[] index of the leaf */
	__u32 n;     /* user frames so far */
	__u32 max;
	__u8 quality, reason;
	__u8 compat;      /* a 32-bit program: words of four bytes */
	__u8 call_return; /* pc is where a system call returns to, not where it was made */
};

/* One per CPU: the record that is being built, and the walk that builds it. */
struct scratch {
	struct unwind unwind;
	struct abi_sample record;
	__u64 frames[ABI_FRAMES_MAX]; /* the record's */
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

static __always_inline bool unwind_push(struct scratch *s, __u64 frame)
{
	__u64 index = s->unwind.first + s->unwind.n;

	/* Keeps the compiler from checking one register and indexing with another. */
	__asm__ volatile("" : "+r"(index));
	if (index >= ABI_FRAMES_MAX)
		return false;
	s->frames[index] = frame;
	s->unwind.n++;
	return true;
}

/* Reads the frame at fp. Returns what bpf_probe_read_user() says. */
static __always_inline long unwind_read(const struct unwind *u, __u64 *next, __u64 *ret)
{
	__u64 wide[2] = {};
	__u32 narrow[2] = {};
	long r;

	if (u->compat) {
		r = bpf_probe_read_user(narrow, sizeof(narrow), (const void *)u->fp);
		*next = narrow[0];
		*ret = narrow[1];
	} else {
		r = bpf_probe_read_user(wide, sizeof(wide), (const void *)u->fp);
		*next = wide[0];
		*ret = wide[1] & RETURN_MASK;
	}
	return r;
}

/* Whether @fp can be the frame above @below. */
static __always_inline bool unwind_plausible(const struct unwind *u, __u64 fp, __u64 below)
{
	return fp >= below && fp < USER_LIMIT && !(fp & (u->compat ? 3 : 7));
}

static long unwind_step(__u32 i, struct unwind_context *context)
{
	struct scratch *s = context->scratch;
	struct unwind *u = &s->unwind;
	__u64 next, ret;

	(void)i;
	if (unwind_read(u, &next, &ret))
		return unwind_end(u, STACK_BROKEN, BROKEN_UNREADABLE);
	if (ret < 4096 || ret >= USER_LIMIT)
		return unwind_end(u, STACK_BROKEN, BROKEN_FRAME_POINTER);
	if (u->n >= u->max || !unwind_push(s, ret - 1))
		return unwind_end(u, STACK_TRUNCATED, TRUNCATED_DEPTH);
	if (!next)
		return unwind_end(u, STACK_COMPLETE, 0);
	if (!unwind_plausible(u, next, u->fp + 1))
		return unwind_end(u, STACK_BROKEN, BROKEN_FRAME_POINTER);
	u->fp = next;
	return 0;
}

/*
 * Nothing was called yet: the program's, or its loader's, first instructions, where the ABI has the
 * frame pointer zero. Anywhere else a zero there is just a number.
 */
static __always_inline bool unwind_at_start(const struct unwind *u, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	__u64 start;

	if (!mm)
		return false;
	start = mm->start_stack;
	return u->sp <= start && u->sp + 64 >= start;
}

static __always_inline void unwind_walk(struct scratch *s, struct task_struct *task)
{
	struct unwind_context context = {.scratch = s};
	struct unwind *u = &s->unwind;
	bool at_start = unwind_at_start(u, task);

	/* A program that was just executed "returns" from its system call to its first byte. */
	if (u->call_return && !at_start)
		u->pc--;
	/* The vsyscall page looks like the kernel's: no frame to give, but it has a caller. */
	if (u->pc < USER_LIMIT)
		unwind_push(s, u->pc);
	if (!u->fp && at_start)
		unwind_end(u, STACK_COMPLETE, 0);
	else if ((u->compat && !COMPAT_WALKABLE) || !unwind_plausible(u, u->fp, u->sp))
		unwind_end(u, STACK_BROKEN, BROKEN_FRAME_POINTER);
	else {
		unwind_end(u, STACK_TRUNCATED, TRUNCATED_DEPTH);
		bpf_loop(ABI_USER_FRAMES_MAX, unwind_step, &context, 0);
	}
}

#define UNWIND_TAKE_REGISTERS(u, r)               \
	do {                                      \
		(u)->pc = REGISTER_PC(r);         \
		(u)->sp = REGISTER_SP(r);         \
		(u)->fp = REGISTER_FP(r);         \
		(u)->compat = REGISTER_COMPAT(r); \
	} while (0)

/* In the middle of exec: the registers are the old program's, the memory may be the new one's. */
static __always_inline bool unwind_in_exec(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/*
 * Walks the user stack of @task, the current one, into the frames from @first on. @user: the tick
 * hit user mode, and @regs are its registers.
 */
static __always_inline void unwind_user(struct scratch *s, struct task_struct *task,
					struct bpf_perf_event_data *ctx, bool user, __u32 first,
					__u32 max)
{
	struct unwind *u = &s->unwind;
	struct pt_regs *regs;

	u->first = first;
	u->n = 0;
	u->max = max;
	u->call_return = false;
	if (task->flags & PF_KTHREAD) {
		unwind_end(u, STACK_COMPLETE, 0);
		return;
	}
	if (user) {
		UNWIND_TAKE_REGISTERS(u, &ctx->regs);
	} else {
		if (task->flags & PF_EXITING || !task->mm || unwind_in_exec(task)) {
			unwind_end(u, STACK_NO_USER, 0);
			return;
		}
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		if (!regs) {
			unwind_end(u, STACK_BROKEN, BROKEN_NO_REGISTERS);
			return;
		}
		UNWIND_TAKE_REGISTERS(u, regs);
		u->call_return = REGISTER_SYSCALL(regs);
		/* A worker that the kernel made inside a process (io_uring): no user side at all.
		 */
		if (!u->pc && !u->sp) {
			unwind_end(u, STACK_COMPLETE, 0);
			return;
		}
	}
	unwind_walk(s, task);
}

#endif
