/* SPDX-License-Identifier: MIT */
/*
 * Memory of the walk: region 0 is the thread's own stack, read in place; the others are chunks that
 * the kernel copies, the oldest replaced first. The walk asks for an address, is given it or told
 * that there is none, and goes on.
 */
#include "client/shim/core/tick.h"

#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/reasons.h"
#include "common/unwind/walk.h"

/* Of the ABI: what a function may use below its stack pointer. */
#define RED_ZONE 128
/* Reads through the kernel that one walk may cost. */
#define FETCHES_MAX 128

struct tick {
	const struct images_view *view;
	struct unwind_mapping leaf; /* code that came after the view was made: it executes */
	uint64_t pc;
	bool is_outside;
};

#if defined(__x86_64__)
void tick_registers(const void *ucontext, struct unwind_registers *ret)
{
	/* In the order of RULE_BASE_OTHER and those behind it. */
	static const int others[UNWIND_OTHERS] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_R10,
						  REG_R11, REG_RDI, REG_RSI, REG_R8,  REG_R9,
						  REG_R12, REG_R13, REG_R14, REG_R15};
	const greg_t *registers = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;

	memset(ret, 0, sizeof(*ret));
	ret->pc = (uint64_t)registers[REG_RIP];
	ret->sp = (uint64_t)registers[REG_RSP];
	ret->fp = (uint64_t)registers[REG_RBP];
	/* The thread's own descriptor begins with its address (System V ABI, TLS variant II). */
	__asm__("mov %%fs:0, %0" : "=r"(ret->thread));
	for (unsigned i = 0; i < UNWIND_OTHERS; i++)
		ret->others[i] = (uint64_t)registers[others[i]];
	ret->known = UNWIND_KNOWN_FP | ((1u << UNWIND_OTHERS) - 1);
}
#elif defined(__aarch64__)
void tick_registers(const void *ucontext, struct unwind_registers *ret)
{
	const ucontext_t *uc = ucontext;

	memset(ret, 0, sizeof(*ret));
	ret->pc = uc->uc_mcontext.pc;
	ret->sp = uc->uc_mcontext.sp;
	ret->fp = uc->uc_mcontext.regs[29];
	ret->others[RULE_BASE_LR - RULE_BASE_OTHER] = uc->uc_mcontext.regs[30];
	ret->known = UNWIND_KNOWN_FP | UNWIND_KNOWN(RULE_BASE_LR);
}
#else
#error "no registers for this architecture"
#endif

static const struct unwind_mapping *tick_find_mapping(void *userdata, uint64_t address)
{
	struct tick *tick = userdata;
	const struct unwind_mapping *mapping = images_find(tick->view, address);

	tick->is_outside |= !mapping;
	return mapping || address != tick->pc ? mapping : &tick->leaf;
}

/* Has the words around @address read into the next one of the chunks. */
static bool tick_fetch_chunk(struct walk *walk, struct thread *thread, unsigned n_fetched,
			     uint64_t address)
{
	unsigned chunk = n_fetched % THREADS_CHUNKS, region = 1 + chunk;
	uint64_t start = address & ~(uint64_t)(THREADS_CHUNK - 1);
	struct iovec to = {thread->chunks[chunk], THREADS_CHUNK};
	struct iovec from = {(void *)(uintptr_t)start, THREADS_CHUNK};

	/* A chunk lies within one page: it can be read as a whole or not at all. */
	if (address & 7 || n_fetched == FETCHES_MAX ||
	    process_vm_readv(getpid(), &to, 1, &from, 1, 0) != THREADS_CHUNK)
		return false;
	walk->memory.regions[region] = (struct unwind_region){start, THREADS_CHUNK, to.iov_base};
	if (walk->memory.n_regions <= region)
		walk->memory.n_regions = region + 1;
	return true;
}

/* The first region: the thread's own stack, as far as it is in use. Elsewhere: nothing. */
static void use_stack(struct walk *walk, const struct thread *thread)
{
	uint64_t sp = walk->registers.sp, low = sp - RED_ZONE;

	walk->memory.n_regions = 1;
	if (!thread->end || sp < thread->low || sp >= thread->end)
		return;
	if (low < thread->low)
		low = thread->low;
	walk->memory.regions[0] = (struct unwind_region){low, (size_t)(thread->end - low),
							 (const uint8_t *)(uintptr_t)low};
}

void tick_walk(struct images *images, const struct images_view *view, struct thread *thread,
	       const struct unwind_registers *registers, struct tick_stack *ret)
{
	struct tick tick = {.view = view, .pc = registers->pc};
	struct walk_maps maps = {.find = tick_find_mapping, .userdata = &tick};
	struct walk walk = {
		.registers = *registers,
		.frames = thread->frames,
		.max_frames = THREADS_FRAMES_MAX,
	};
	unsigned n_fetched = 0;
	int outcome;

	tick.leaf =
		(struct unwind_mapping){.start = tick.pc, .end = tick.pc + 1, .slot = SLOT_NONE};
	images_tables(images, &maps);
	use_stack(&walk, thread);
	while ((outcome = walk_run(&walk, &maps)) == WALK_MEMORY &&
	       tick_fetch_chunk(&walk, thread, n_fetched, walk.address))
		n_fetched++;
	if (outcome != WALK_ENDED)
		walk_give_up(&walk, outcome);
	/* In the vsyscall page, which has no frame. */
	if (!walk.n_frames) {
		thread->frames[0] = registers->pc;
		walk.n_frames = 1;
	}
	ret->n = walk.n_frames;
	ret->quality = walk.quality;
	ret->reason = walk.reason;
	ret->is_outside = tick.is_outside;
}
