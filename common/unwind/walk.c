/* SPDX-License-Identifier: MIT */
#include "common/unwind/walk.h"

#include <string.h>

#include "common/frame.h"
#include "common/reasons.h"
#include "common/unwind/step.h"
#include "common/unwind/table.h"

/* Beside enum walk_outcome: the registers are the caller's now. */
#define GO_ON (-1)

/* As far as the program's first instructions move their stack pointer before they call. */
#define START_SPAN 64u
/* What lies further away than a stack is large, by default, belongs to another one. */
#define STACK_SPAN (UINT64_C(8) << 20)

/* A restorer: what a signal handler returns to, to call rt_sigreturn(2). */
#if defined(UNWIND_X86_64)
/* mov $15, %rax; syscall */
static const uint8_t RESTORER[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
#define RESTORER_MOV 7 /* bytes of its first instruction */
/*
 * The vsyscall page: three functions without a frame, at an address that looks like the kernel's
 * (Documentation/x86/x86_64/mm.rst). No frame can stand for it, but it has a caller.
 */
#define VSYSCALL_PAGE UINT64_C(0xffffffffff600000)
#else
/* mov x8, #139; svc #0 */
static const uint8_t RESTORER[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
#define RESTORER_MOV 4
#endif

static int end(struct walk *walk, enum stack_quality quality, unsigned reason)
{
	walk->quality = (uint8_t)quality;
	walk->reason = (uint8_t)reason;
	return WALK_ENDED;
}

static int lacks_memory(struct walk *walk)
{
	walk->address = walk->memory.missing;
	return WALK_MEMORY;
}

/* The caller's frame comes next. */
static int go_on(struct walk *walk, bool is_last)
{
	walk->pushed = false;
	walk->is_last = is_last;
	return GO_ON;
}

/* False: there is no room for it. */
static bool push(struct walk *walk, const struct unwind_mapping *mapping, uint64_t pc)
{
	uint64_t offset, frame = pc;

	if (walk->pushed)
		return true;
	if (walk->n_frames >= walk->max_frames)
		return false;
	if (mapping && mapping->image && mapping->image <= FRAME_IMAGES_MAX) {
		offset = pc - mapping->start + mapping->offset;
		if (offset <= UINT32_MAX)
			frame = frame_in_image(mapping->image, (uint32_t)offset);
	}
	walk->frames[walk->n_frames++] = frame;
	walk->pushed = true;
	return true;
}

/*
 * The rule at @pc. Returns GO_ON or WALK_TABLE. @ret_refused: there are rules, but none that could
 * be used.
 */
static int find_rule(struct walk *walk, const struct walk_maps *maps,
		     const struct unwind_mapping *mapping, uint64_t pc, uint64_t *ret_rule,
		     bool *ret_refused)
{
	uint64_t offset = pc - mapping->start + mapping->offset;
	struct table_slot *slot;

	*ret_rule = RULE_WORD(RULE_UNKNOWN);
	*ret_refused = false;
	if (walk->registers.compat || mapping->slot >= maps->n_slots)
		return GO_ON;
	slot = &maps->slots[mapping->slot];
	switch (slot->state) {
	case TABLE_ABSENT:
		walk->slot = mapping->slot;
		return WALK_TABLE;
	case TABLE_REFUSED:
		*ret_refused = true;
		break;
	case TABLE_LOADED:
		slot->used_s = maps->now_s;
		if (offset <= UINT32_MAX)
			*ret_rule = table_search(maps->words, maps->n_words, slot,
						 (uint32_t)offset);
		break;
	}
	return GO_ON;
}

/*
 * Nothing can be above: the stack pointer is where the program found it, and the frame pointer is
 * none. The kernel zeroes it, but code without a rule may have put anything there since.
 */
static bool is_at_start(const struct walk *walk)
{
	const struct unwind_registers *r = &walk->registers;
	bool has_frame = r->known & UNWIND_KNOWN_FP && r->fp >= r->sp && r->fp < walk->start_stack;

	return walk->start_stack && r->sp + START_SPAN >= walk->start_stack &&
	       r->sp <= walk->start_stack + START_SPAN && !has_frame;
}

static int by_rule(struct walk *walk, uint64_t rule)
{
	bool is_return = walk->registers.is_return;

	switch (unwind_step_rule(&walk->registers, rule, &walk->memory)) {
	case UNWIND_STEP_CALLER:
		/*
		 * Nothing calls a signal's restorer: the kernel has made the handler return to its
		 * first byte, so it was looked up one byte too low.
		 */
		if (RULE_KIND(rule) == RULE_SIGNAL && is_return && walk->n_frames)
			walk->frames[walk->n_frames - 1]++;
		return go_on(walk, false);
	case UNWIND_STEP_ROOT:
		return end(walk, STACK_COMPLETE, 0);
	case UNWIND_STEP_UNREADABLE:
		return lacks_memory(walk);
	case UNWIND_STEP_IMPLAUSIBLE:
		/* Start-up code in assembly may well have rules that do not know that it is. */
		if (is_at_start(walk))
			return end(walk, STACK_COMPLETE, 0);
		return end(walk, STACK_BROKEN,
			   RULE_BASE(rule) == RULE_BASE_FP ? BROKEN_FRAME_POINTER : BROKEN_RULE);
	}
	return end(walk, STACK_BROKEN, BROKEN_RULE);
}

static bool restores(const struct walk_maps *maps, const struct unwind_mapping *mapping,
		     uint64_t pc)
{
	uint8_t code[sizeof(RESTORER)];

	return pc >= mapping->start && pc < mapping->end && mapping->end - pc >= sizeof(code) &&
	       maps->read_code(maps->userdata, mapping, pc, code, sizeof(code)) &&
	       !memcmp(code, RESTORER, sizeof(code));
}

/*
 * A restorer that no rule covers: its code says what it is. A caller is at its first instruction, a
 * leaf may be at the second.
 */
static bool is_restorer(const struct walk *walk, const struct walk_maps *maps,
			const struct unwind_mapping *mapping)
{
	const struct unwind_registers *r = &walk->registers;

	if (r->compat || !maps->read_code)
		return false;
	return restores(maps, mapping, r->pc) ||
	       (!r->is_return && restores(maps, mapping, r->pc - RESTORER_MOV));
}

/* @reason: of a frame pointer that leads nowhere. */
static int by_frame_pointer(struct walk *walk, const struct walk_maps *maps, unsigned reason)
{
	struct unwind_registers caller = walk->registers;
	int is_last;

	/* A 32-bit C library without frame pointers hands zero on: the end, but of what? */
	if (walk->is_last && walk->registers.compat)
		return end(walk, STACK_BROKEN, BROKEN_UNKNOWN);
	if (walk->is_last || is_at_start(walk))
		return end(walk, STACK_COMPLETE, 0);
	switch (unwind_step_fp(&caller, &walk->memory, &is_last)) {
	case UNWIND_STEP_CALLER:
		if (!maps->find(maps->userdata, unwind_lookup_pc(&caller)))
			return end(walk, STACK_BROKEN, reason);
		walk->registers = caller;
		return go_on(walk, is_last);
	case UNWIND_STEP_UNREADABLE:
		/* Code without frame pointers has anything in that register. */
		if (walk->memory.missing - caller.sp >= STACK_SPAN)
			return end(walk, STACK_BROKEN, reason);
		return lacks_memory(walk);
	}
	return end(walk, STACK_BROKEN, reason);
}

/* Returns GO_ON or enum walk_outcome. */
static int go_one_frame(struct walk *walk, const struct walk_maps *maps)
{
	uint64_t pc = unwind_lookup_pc(&walk->registers), rule;
	const struct unwind_mapping *mapping;
	bool is_refused;
	int r;

#if defined(UNWIND_X86_64)
	if (pc - VSYSCALL_PAGE < 4096) {
		const struct rule called = {
			.kind = RULE_CFA, .base = RULE_BASE_SP, .cfa_offset = 8, .ra_offset = -8};

		return by_rule(walk, rule_pack(&called));
	}
#endif
	/* The process says where it is: what it says must not pass for another kind of frame. */
	if (pc >= UNWIND_USER_LIMIT)
		return end(walk, STACK_BROKEN, BROKEN_UNMAPPED);
	mapping = maps->find(maps->userdata, pc);
	if (!push(walk, mapping, pc))
		return end(walk, STACK_TRUNCATED, TRUNCATED_DEPTH);
	if (!mapping)
		return end(walk, STACK_BROKEN, BROKEN_UNMAPPED);
	r = find_rule(walk, maps, mapping, pc, &rule, &is_refused);
	if (r != GO_ON)
		return r;
	if (RULE_KIND(rule) == RULE_UNKNOWN && is_restorer(walk, maps, mapping))
		rule = RULE_WORD(RULE_SIGNAL);
	if (RULE_KIND(rule) != RULE_UNKNOWN)
		return by_rule(walk, rule);
	return by_frame_pointer(walk, maps, is_refused ? BROKEN_NO_TABLE : BROKEN_FRAME_POINTER);
}

int walk_go(struct walk *walk, const struct walk_maps *maps)
{
	int r;

	do
		r = go_one_frame(walk, maps);
	while (r == GO_ON);
	return r;
}

/* Whether @address would be in the copy that holds the stack pointer, were that longer. */
static bool is_above_copy(const struct walk *walk, uint64_t address)
{
	for (unsigned i = 0; i < walk->memory.n_regions; i++) {
		const struct unwind_region *region = &walk->memory.regions[i];
		uint64_t last = region->address + region->length;

		if (walk->registers.sp - region->address <= region->length &&
		    address + sizeof(uint64_t) - last - 1 < STACK_SPAN)
			return true;
	}
	return false;
}

void walk_give_up(struct walk *walk, int outcome)
{
	if (outcome == WALK_TABLE)
		end(walk, STACK_BROKEN, BROKEN_NO_TABLE);
	else if (outcome == WALK_MEMORY && walk->had_no_room && !walk->memory.n_regions)
		end(walk, STACK_BROKEN, BROKEN_NO_COPY);
	else if (outcome == WALK_MEMORY && is_above_copy(walk, walk->address))
		end(walk, STACK_TRUNCATED, TRUNCATED_COPY);
	else if (outcome == WALK_MEMORY)
		end(walk, STACK_BROKEN, BROKEN_UNREADABLE);
}
