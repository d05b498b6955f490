/* SPDX-License-Identifier: MIT */
/*
 * A walk is a loop of steps. Each adds the frame of the registers' pc, finds the rule of that pc,
 * or without one guesses or assumes a frame pointer, and replaces the registers by the caller's. A
 * step that lacks a table or memory stops the walk as it is, so that it can be continued later.
 */
#include "common/unwind/walk.h"

#include "common/frame.h"
#include "common/reasons.h"
#include "common/unwind/table.h"

/* Code of one mapping. */
struct unwind_code {
	const struct walk_maps *maps;
	const struct unwind_mapping *mapping;
};

static inline bool unwind_read_code(struct unwind_code *code, uint64_t address, unwind_u64 *ret,
				    uint32_t n_bytes)
{
	const struct walk_maps *maps = code->maps;
	const struct unwind_mapping *mapping = code->mapping;

	return maps->read_code && address >= mapping->start && address < mapping->end &&
	       mapping->end - address >= n_bytes &&
	       maps->read_code(maps->userdata, mapping, address, (uint8_t *)ret, n_bytes);
}

#include "common/unwind/ends.h"
#include "common/unwind/step.h"

struct unwind_view {
	struct walk *walk;
	const struct walk_maps *maps;
};

#if defined(UNWIND_X86_64)
struct unwind_place;
static bool unwind_view_read(struct unwind_view *view, unwind_u64 address, unwind_u64 *ret);
static bool unwind_view_read_code(struct unwind_view *view, unwind_u64 address, unwind_u64 *ret,
				  uint32_t n_bytes);
static bool unwind_view_find(struct unwind_view *view, unwind_u64 address,
			     struct unwind_place *ret);
static unwind_u64 unwind_view_rule(struct unwind_view *view, const struct unwind_place *place);
#endif
#include "common/unwind/guess.h"

/* Beside enum walk_outcome: the registers are the caller's now. */
#define GO_ON (-1)

#if defined(UNWIND_X86_64)
/*
 * The vsyscall page: three functions without a frame, at an address that looks like the kernel's
 * (Documentation/x86/x86_64/mm.rst). No frame can stand for it, but it has a caller.
 */
#define VSYSCALL_PAGE UINT64_C(0xffffffffff600000)
#endif

static int walk_end(struct walk *walk, enum stack_quality quality, unsigned reason)
{
	walk->quality = (uint8_t)quality;
	walk->reason = (uint8_t)reason;
	return WALK_ENDED;
}

/* @as: an UNWIND_END(). */
static int walk_end_as(struct walk *walk, int as)
{
	if (as == UNWIND_LACKS_MEMORY) {
		walk->address = walk->memory.missing;
		return WALK_MEMORY;
	}
	return walk_end(walk, UNWIND_END_QUALITY(as), UNWIND_END_REASON(as));
}

/* The caller's frame comes next; of the one that was pushed last: its code, its stack pointer. */
static int walk_continue(struct walk *walk, uint64_t pc, uint64_t sp)
{
	struct walk_anchor *anchor;

	walk->pushed = false;
	if (walk->next_anchor == walk->n_anchors || !walk->n_frames)
		return GO_ON;
	anchor = &walk->anchors[walk->next_anchor];
	if (anchor->n_bytes ? pc - anchor->address >= anchor->n_bytes
			    : anchor->address >= walk->registers.sp)
		return GO_ON;
	anchor->at = walk->n_frames - 1;
	anchor->is_loop = anchor->n_bytes || anchor->address >= sp;
	walk->next_anchor++;
	return GO_ON;
}

/* False: there is no room for it. */
static bool walk_push_frame(struct walk *walk, const struct unwind_mapping *mapping, uint64_t pc)
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
 * The rule at @pc. Returns GO_ON or WALK_TABLE. @ret_state: of the table that was asked; where
 * there is none to ask, TABLE_NO_CFI.
 */
static int walk_find_rule(struct walk *walk, const struct walk_maps *maps,
			  const struct unwind_mapping *mapping, uint64_t pc, uint64_t *ret_rule,
			  uint32_t *ret_state)
{
	uint64_t offset = pc - mapping->start + mapping->offset;
	struct table_slot *slot;

	*ret_rule = RULE_WORD(RULE_UNKNOWN);
	*ret_state = TABLE_NO_CFI;
	if (walk->registers.compat || mapping->slot >= maps->n_slots || offset > UINT32_MAX)
		return GO_ON;
	slot = &maps->slots[mapping->slot];
	*ret_state = slot->state;
	switch (slot->state) {
	case TABLE_ABSENT:
		walk->slot = mapping->slot;
		return WALK_TABLE;
	case TABLE_LOADED:
		slot->used_s = maps->now_s;
		*ret_rule = table_search(maps->words, maps->n_words, slot, (uint32_t)offset);
		break;
	}
	return GO_ON;
}

static int walk_step_by_rule(struct walk *walk, uint64_t rule)
{
	struct unwind_registers *r = &walk->registers;
	bool is_return = r->is_return;
	uint64_t pc = unwind_lookup_pc(r), sp = r->sp;
	int step = unwind_step_rule(r, rule, &walk->memory);

	if (step != UNWIND_STEP_CALLER)
		return walk_end_as(walk, unwind_end_of_rule(r, rule, step, walk->start_stack));
	/*
	 * Nothing calls a signal's restorer: the kernel has made the handler return to its first
	 * byte, so it was looked up one byte too low. But for a leaf, which is in its system call.
	 */
	if (RULE_KIND(rule) == RULE_SIGNAL && is_return && walk->n_frames > 1)
		walk->frames[walk->n_frames - 1]++;
	return walk_continue(walk, pc, sp);
}

#if defined(UNWIND_X86_64)
static bool unwind_view_read(struct unwind_view *view, unwind_u64 address, unwind_u64 *ret)
{
	return unwind_read(&view->walk->memory, address, ret);
}

static bool unwind_view_read_code(struct unwind_view *view, unwind_u64 address, unwind_u64 *ret,
				  uint32_t n_bytes)
{
	const struct walk_maps *maps = view->maps;
	const struct unwind_mapping *mapping = maps->find(maps->userdata, address);

	return mapping && mapping->end - address >= n_bytes &&
	       maps->read_code(maps->userdata, mapping, address, (uint8_t *)ret, n_bytes);
}

static bool unwind_view_find(struct unwind_view *view, unwind_u64 address, struct unwind_place *ret)
{
	const struct walk_maps *maps = view->maps;
	const struct unwind_mapping *mapping = maps->find(maps->userdata, address);

	if (!mapping)
		return false;
	*ret = (struct unwind_place){.offset = address - mapping->start + mapping->offset,
				     .image = mapping->image,
				     .slot = mapping->slot};
	return true;
}

static unwind_u64 unwind_view_rule(struct unwind_view *view, const struct unwind_place *place)
{
	const struct walk_maps *maps = view->maps;
	const struct table_slot *slot;

	if (!place->image || place->slot >= maps->n_slots || place->offset > UINT32_MAX)
		return RULE_WORD(RULE_ODD);
	slot = &maps->slots[place->slot];
	if (slot->state != TABLE_LOADED)
		return slot->state == TABLE_ABSENT ? UNWIND_ABSENT : RULE_WORD(RULE_ODD);
	return table_search(maps->words, maps->n_words, slot, (uint32_t)place->offset);
}

/* Returns enum unwind_guessed. */
static int walk_guess(struct walk *walk, const struct walk_maps *maps, uint32_t image)
{
	struct unwind_registers *r = &walk->registers;
	struct unwind_view view = {.walk = walk, .maps = maps};
	struct unwind_guess guess = {.work = walk->guess_work};
	int guessed;

	if (!maps->read_code || !unwind_guess_begin(&guess, r, image))
		return UNWIND_GUESSED_POINTER;
	for (uint32_t i = 0; i < UNWIND_GUESS_STEPS; i++) {
		uint64_t at = unwind_guess_address(r, i);

		if (at && unwind_guess_try(&view, &guess, at))
			break;
	}
	guessed = unwind_guess_end(&view, &guess, r);
	walk->guess_work = guess.work;
	walk->slot = guess.absent;
	return guessed;
}
#else
static int walk_guess(struct walk *walk, const struct walk_maps *maps, uint32_t image)
{
	(void)walk;
	(void)maps;
	(void)image;
	return UNWIND_GUESSED_POINTER;
}
#endif

/*
 * By the frame pointer, or by a guess if a table of @image was asked. @state: walk_find_rule()'s.
 */
static int walk_step_without_rule(struct walk *walk, const struct walk_maps *maps, uint32_t image,
				  uint32_t state)
{
	uint64_t pc = unwind_lookup_pc(&walk->registers), sp = walk->registers.sp;
	int step, as, guessed = UNWIND_GUESSED_POINTER;
	bool is_refused = state == TABLE_REFUSED;
	struct unwind_registers caller;

	as = unwind_end_without_rule(&walk->registers, walk->start_stack, walk->start_code,
				     walk->end_code);
	if (as != UNWIND_GOES_ON)
		return walk_end_as(walk, as);
	if (state == TABLE_LOADED)
		guessed = walk_guess(walk, maps, image);
	if (guessed == UNWIND_GUESSED_TABLE)
		return WALK_TABLE;
	if (guessed == UNWIND_GUESSED_ENOUGH)
		return walk_end(walk, STACK_BROKEN, BROKEN_GUESSES);
	if (guessed == UNWIND_GUESSED_CALLER)
		return walk_continue(walk, pc, sp);
	caller = walk->registers;
	step = unwind_step_fp(&caller, &walk->memory);
	if (step != UNWIND_STEP_CALLER)
		return walk_end_as(walk, unwind_end_of_pointer(&caller, step, is_refused));
	if (!maps->find(maps->userdata, unwind_lookup_pc(&caller)))
		return walk_end_as(walk, UNWIND_BAD_POINTER(is_refused));
	caller.is_guessed |= guessed == UNWIND_GUESSED_NOTHING;
	walk->registers = caller;
	return walk_continue(walk, pc, sp);
}

/* Returns GO_ON or enum walk_outcome. */
static int walk_step(struct walk *walk, const struct walk_maps *maps)
{
	uint64_t pc = unwind_lookup_pc(&walk->registers), rule;
	const struct unwind_mapping *mapping;
	struct unwind_code code;
	uint32_t image, state;
	int r;

#if defined(UNWIND_X86_64)
	if (pc - VSYSCALL_PAGE < 4096) {
		const struct rule called = {
			.kind = RULE_CFA, .base = RULE_BASE_SP, .cfa_offset = 8, .ra_offset = -8};

		r = unwind_step_rule(&walk->registers, rule_pack(&called), &walk->memory);
		if (r == UNWIND_STEP_CALLER) {
			walk->pushed = false;
			return GO_ON;
		}
		if (r == UNWIND_STEP_UNREADABLE)
			return walk_end_as(walk, UNWIND_LACKS_MEMORY);
	}
#endif
	/* The process says where it is: what it says must not pass for another kind of frame. */
	if (pc >= UNWIND_USER_LIMIT)
		return walk_end(walk, STACK_BROKEN, BROKEN_UNMAPPED);
	mapping = maps->find(maps->userdata, pc);
	if (!walk_push_frame(walk, mapping, pc))
		return walk_end(walk, STACK_TRUNCATED, TRUNCATED_DEPTH);
	if (!mapping)
		return walk_end(walk, STACK_BROKEN, BROKEN_UNMAPPED);
	image = mapping->image;
	r = walk_find_rule(walk, maps, mapping, pc, &rule, &state);
	if (r != GO_ON)
		return r;
	code = (struct unwind_code){.maps = maps, .mapping = mapping};
	if (RULE_KIND(rule) == RULE_UNKNOWN && unwind_is_restorer(&walk->registers, &code))
		rule = RULE_WORD(RULE_SIGNAL);
	if (RULE_KIND(rule) != RULE_UNKNOWN)
		return walk_step_by_rule(walk, rule);
	return walk_step_without_rule(walk, maps, image, state);
}

int walk_run(struct walk *walk, const struct walk_maps *maps)
{
	int r;

	do
		r = walk_step(walk, maps);
	while (r == GO_ON);
	return r;
}

/* Whether @address would be in the copy that holds the stack pointer, were that longer. */
static bool walk_is_above_copy(const struct walk *walk, uint64_t address)
{
	for (unsigned i = 0; i < walk->memory.n_regions; i++) {
		const struct unwind_region *region = &walk->memory.regions[i];
		uint64_t last = region->address + region->length;

		if (walk->registers.sp - region->address <= region->length &&
		    address + sizeof(uint64_t) - last - 1 < UNWIND_STACK_SPAN)
			return true;
	}
	return false;
}

void walk_give_up(struct walk *walk, int outcome)
{
	if (outcome == WALK_TABLE)
		walk_end(walk, STACK_BROKEN, BROKEN_NO_TABLE);
	else if (outcome == WALK_MEMORY && walk->had_no_room && !walk->memory.n_regions)
		walk_end(walk, STACK_BROKEN, BROKEN_NO_COPY);
	else if (outcome == WALK_MEMORY && walk_is_above_copy(walk, walk->address))
		walk_end(walk, STACK_TRUNCATED, TRUNCATED_COPY);
	else if (outcome == WALK_MEMORY)
		walk_end(walk, STACK_BROKEN, BROKEN_UNREADABLE);
}
