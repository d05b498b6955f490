/* SPDX-License-Identifier: MIT */
/*
 * A process whose registers, stack and table of unwind rules are anything. The BPF programs' walk,
 * built as an ordinary program, and profd's own have to end, within the frames and the memory that
 * they were given, as common/reasons.h has it. And both find the same stack: where the first one
 * stops for want of something, the second goes on from there; it also walks alone, from the leaf.
 *
 * A table may be torn, as one that is overwritten while it is searched: then two walks may differ.
 *
 * Input: words of four bytes; behind the last one are zeroes. Flags, how deep, the restorer's
 * place and calls, registers, the mm, the table: its rules, its rows, what is torn. The rest is on
 * the stack, again and again.
 */
#include <stdlib.h>

#include "common/frame.h"
#include "tests/unit/ingest/bpf_stubs.h"

/* The walk of the other host, whose memory has the same names. */
#define unwind_memory walk_memory
#define unwind_read   walk_read
#include "common/unwind/table.h"
#include "common/unwind/walk.h"
#undef unwind_read
#undef unwind_memory

#define PID         77u
#define FIRST       2u /* frames of the kernel are before it */
#define PAGE        UINT64_C(4096)
#define VSYSCALL    UINT64_C(0xffffffffff600000)
#define OFFSET      0x1000u
#define RULES_MAX   8u
#define ROWS_MAX    16u
#define TABLE_MAX   256u  /* words */
#define STACK_WORDS 2560u /* that are filled: a chain of frame pointers as deep as walks go */

#define GUESSED_FINDS (UNWIND_GUESS_WORK / UNWIND_GUESS_FIND)

enum { FLAG_SYSCALL = 1, FLAG_COMPAT = 2, FLAG_TORN = 4 };
enum { LOADED, NO_CFI, REFUSED, ABSENT, N_SLOTS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In the first one is the page of code that can be read. */
static const struct unwind_mapping layout[] = {
	{CODE_BASE - PAGE, CODE_BASE + 2 * PAGE, OFFSET, 1, LOADED},
	{CODE_BASE + 4 * PAGE, CODE_BASE + 8 * PAGE, OFFSET + 4 * PAGE, 1, LOADED},
	{CODE_BASE + 8 * PAGE, CODE_BASE + 9 * PAGE, 0, 0, SLOT_NONE},
	{CODE_BASE + 9 * PAGE, CODE_BASE + 11 * PAGE, OFFSET, 2, NO_CFI},
	{CODE_BASE + 12 * PAGE, CODE_BASE + 14 * PAGE, OFFSET, 3, REFUSED},
	{CODE_BASE + 16 * PAGE, CODE_BASE + 20 * PAGE, OFFSET, 4, ABSENT},
};
#define N_MAPPINGS (sizeof(layout) / sizeof(layout[0]))

struct process {
	const uint8_t *data; /* that are not taken yet */
	size_t size;
	uint32_t flags, max;
	struct mm_struct mm;
	struct task_struct task;
	struct context_registers r;
	uint64_t *table; /* words, to the byte */
	size_t n_table;
};

/* How a walk ended. */
struct found {
	uint32_t n, n_finds;
	uint8_t quality, reason;
	uint64_t *frames; /* max of them, to the byte */
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static uint32_t process_take(struct process *p)
{
	uint32_t word = 0;
	size_t n = p->size < sizeof(word) ? p->size : sizeof(word);

	memcpy(&word, p->data, n);
	p->data += n;
	p->size -= n;
	return word;
}

/* What a process may have at @own: a number, an address near by or of code, two of 32 bits. */
static uint64_t widen(uint32_t word, uint64_t own)
{
	switch (word >> 30) {
	case 0:
		return word;
	case 1:
		return word >> 29 & 1 ? VSYSCALL + (word & 0xfff) : own + (uint64_t)(int16_t)word;
	case 2:
		return CODE_BASE - PAGE + (word & 0x1ffff);
	}
	return (uint64_t)(word >> 16 & 0x3fff) << 47 | (0x1000 + (word & 0xffff));
}

static uint64_t take_wide(struct process *p)
{
	return widen(process_take(p), STACK_BASE);
}

/* --- the process ------------------------------------------------------------------------------ */

/* What guesses look for: calls, stubs, and functions that set up a frame pointer. */
static void put_calls(uint32_t seed)
{
	static const uint8_t pieces[][8] = {
		{0xe8}, {0xff, 0xd0}, {0xff, 0x25}, {0xff, 0x15}, {0x55, 0x48, 0x89, 0xe5}};
	static const unsigned lengths[] = {1, 2, 2, 2, 4};
	uint32_t random = seed;

	for (uint32_t n = seed >> 28; n; n--) {
		uint32_t at, kind, relative;

		random = random * 1664525 + 1013904223;
		at = (random >> 8) % (CODE_BYTES - 16);
		kind = (random >> 4) % 5;
		/* To somewhere in the page, or a page further. */
		relative = (random >> 16 & 0x1fff) - at - lengths[kind] - 4;
		memcpy(code + at, pieces[kind], lengths[kind]);
		if (kind != 1 && kind != 4)
			memcpy(code + at + lengths[kind], &relative, sizeof(relative));
	}
}

static void take_code(struct process *p)
{
	static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	const uint32_t word = process_take(p);
	size_t at = word % CODE_BYTES, n = CODE_BYTES - at;

	memset(code, 0xcc, sizeof(code));
	put_calls(word);
	memcpy(code + at, restorer, n < sizeof(restorer) ? n : sizeof(restorer));
}

static void take_registers(struct process *p)
{
	struct context_registers *r = &p->r;

	r->cs = p->flags & FLAG_COMPAT ? 0x23 : 0x33;
	r->ip = take_wide(p);
	r->sp = take_wide(p);
	r->bp = take_wide(p);
	r->ax = take_wide(p);
	r->bx = take_wide(p);
	r->cx = p->flags & FLAG_SYSCALL ? r->ip : take_wide(p);
	r->dx = take_wide(p);
	r->r10 = take_wide(p);
	r->r11 = take_wide(p);
	r->di = take_wide(p);
	/* The others too, without a change of what corpora mean. */
	r->si = r->r10 + 8;
	r->r8 = r->r11 + 8;
	r->r9 = r->di + 8;
	r->r12 = r->ax + 8;
	r->r13 = r->bx + 8;
	r->r14 = r->dx + 8;
	r->r15 = r->sp + 8;
	entry_regs = (struct pt_regs){
		.r15 = r->r15,
		.r14 = r->r14,
		.r13 = r->r13,
		.r12 = r->r12,
		.bp = r->bp,
		.bx = r->bx,
		.r11 = r->r11,
		.r10 = r->r10,
		.r9 = r->r9,
		.r8 = r->r8,
		.ax = r->ax,
		.cx = r->cx,
		.dx = r->dx,
		.si = r->si,
		.di = r->di,
		.ip = r->ip,
		.cs = r->cs,
		.sp = r->sp,
	};
}

static void take_table(struct process *p, struct table_slot *slot)
{
	struct cfi_row rows[ROWS_MAX + 1];
	uint64_t rules[RULES_MAX + 1];
	uint32_t n_rules = 1 + process_take(p) % RULES_MAX, n_rows = 1 + process_take(p) % ROWS_MAX;
	const struct cfi_rows table = {
		.rows = rows, .n_rows = n_rows + 1, .rules = rules, .n_rules = n_rules + 1};
	uint32_t offset = OFFSET, word;

	for (uint32_t i = 0; i < n_rules; i++) {
		rules[i] = process_take(p);
		rules[i] |= (uint64_t)process_take(p) << 32;
	}
	rules[n_rules] = RULE_WORD(RULE_UNKNOWN);
	for (uint32_t i = 0; i < n_rows; i++, offset += 1 + (word >> 4 & 0xfff)) {
		word = process_take(p);
		rows[i] = (struct cfi_row){.offset = offset, .rule = (word & 15) % (n_rules + 1)};
	}
	rows[n_rows] = (struct cfi_row){.offset = offset, .rule = n_rules};
	require(table_pack(&table, TABLE_MAX, slot, &p->table, &p->n_table) == TABLE_E_OK);
}

/* What is not sound is refused before it is loaded. */
static void load_table(struct process *p)
{
	struct table_slot *slot = &maps.slots[LOADED];

	take_table(p, slot);
	if (!table_is_sound(p->table, p->n_table, slot))
		slot->state = TABLE_REFUSED;
	for (uint32_t i = p->flags & FLAG_TORN ? process_take(p) % 8 : 0; i; i--) {
		uint32_t at = process_take(p) % (p->n_table + sizeof(*slot) / 4);

		if (at < p->n_table)
			p->table[at] = p->table[at] << 32 | process_take(p);
		else
			((uint32_t *)slot)[at - p->n_table] = process_take(p);
	}
	memcpy(maps.words, p->table, p->n_table * sizeof(*p->table));
	maps.slots[NO_CFI].state = TABLE_NO_CFI;
	maps.slots[REFUSED].state = TABLE_REFUSED;
	maps.slots[ABSENT].state = TABLE_ABSENT;
}

static void take_stack(struct process *p)
{
	size_t n = p->size / 4 + !!(p->size % 4);
	uint32_t own[STACK_WORDS] = {0};

	n = n < STACK_WORDS ? n : STACK_WORDS;
	for (size_t i = 0; i < n; i++)
		own[i] = process_take(p);
	for (size_t i = 0; i < STACK_WORDS; i++)
		stack.wide[i] = n ? widen(own[i % n], STACK_BASE + 8 * i) : 0;
}

/* --- the walks -------------------------------------------------------------------------------- */

static void check_end(const struct found *found, uint32_t max)
{
	require(found->n <= max && found->quality < N_STACK_QUALITY);
	require(found->reason < N_STACK_REASONS(found->quality));
	require(found->n || found->quality != STACK_COMPLETE);
	for (uint32_t i = 0; i < found->n; i++) {
		uint64_t frame = found->frames[i];

		require(frame_kind(frame) == FRAME_USER ? frame < UNWIND_USER_LIMIT
							: frame_kind(frame) == FRAME_IMAGE);
		if (frame_kind(frame) == FRAME_IMAGE)
			require(frame_image(frame) - 1 < 4 && frame_offset(frame) >= OFFSET &&
				frame_offset(frame) <= OFFSET + 8 * PAGE);
	}
}

/* What profd is given to go on is what the process has. */
static void check_rest(const struct unwind_registers *r)
{
	const uint8_t *copy;
	uint8_t *expected;
	uint32_t n;

	require(rest_take(&scratch, 0, ABI_COPY_MAX) ==
		sizeof(*r) + (uint64_t)scratch.record.copy_bytes);
	copy = (const uint8_t *)&scratch.body[FIRST + scratch.unwind.n];
	require(!memcmp(copy, r, sizeof(*r)));
	n = scratch.record.copy_bytes;
	require(n <= ABI_COPY_MAX && n % 8 == 0);
	expected = malloc(n + 1);
	for (uint32_t i = 0; i < n; i += 8)
		require(!bpf_probe_read_user(expected + i, 8,
					     (void *)(scratch.record.copy_address + i)));
	require(!memcmp(copy + sizeof(*r), expected, n));
	free(expected);
}

static void walk_in_kernel(struct process *p, struct found *ret)
{
	struct unwind *u = &scratch.unwind;

	memset(scratch.cache, 0, sizeof(scratch.cache));
	memset(scratch.body, 0xff, sizeof(scratch.body[0]) * (ABI_FRAMES_MAX + 1));
	scratch.record.pid = PID;
	unwind_user(&scratch, &p->task, &p->r, !(p->flags & FLAG_SYSCALL), FIRST, p->max);
	require(u->n <= p->max && (!u->pushed || u->n));
	require(scratch.body[FIRST - 1] == UINT64_MAX && scratch.body[FIRST + u->n] == UINT64_MAX);
	memcpy(ret->frames, scratch.body + FIRST, u->n * sizeof(*ret->frames));
	ret->n = u->n;
	ret->quality = u->quality;
	ret->reason = u->reason;
}

static const struct unwind_mapping *find_mapping(void *userdata, uint64_t address)
{
	++*(uint32_t *)userdata;
	for (size_t i = 0; i < N_MAPPINGS; i++)
		if (address >= layout[i].start && address < layout[i].end)
			return &layout[i];
	return NULL;
}

static bool read_code(void *userdata, const struct unwind_mapping *mapping, uint64_t address,
		      uint8_t *ret, size_t length)
{
	(void)userdata;
	require(address >= mapping->start && address + length <= mapping->end);
	return copy_out(ret, (__u32)length, address, CODE_BASE, code, CODE_BYTES);
}

/* From @r on; @found has the frames so far, of which that of @r is one if it is @pushed. */
static void walk_in_profd(const struct process *p, struct unwind_registers r, bool pushed,
			  struct found *found)
{
	const struct walk_maps walk_maps = {.find = find_mapping,
					    .read_code = read_code,
					    .userdata = &found->n_finds,
					    .words = p->table,
					    .n_words = p->n_table,
					    .slots = maps.slots,
					    .n_slots = N_SLOTS};
	struct walk walk = {
		.registers = r,
		.start_stack = p->mm.start_stack,
		.start_code = p->mm.start_code,
		.end_code = p->mm.end_code,
		.frames = found->frames,
		.n_frames = found->n,
		.max_frames = p->max,
		.pushed = pushed,
		.memory = {.regions = {{STACK_BASE, STACK_BYTES, stack.bytes},
				       {0x1000, STACK_BYTES, stack.bytes},
				       {CODE_BASE, CODE_BYTES, code}},
			   .n_regions = 3},
	};
	int outcome = walk_run(&walk, &walk_maps);

	if (outcome != WALK_ENDED)
		walk_give_up(&walk, outcome);
	found->n = walk.n_frames;
	found->quality = walk.quality;
	found->reason = walk.reason;
	/* Each frame is looked for, and what a frame pointer leads to; code for guesses, twice. */
	require(found->n_finds <= 2 * p->max + 2 + 2 * (GUESSED_FINDS + 100));
}

static void walk_both_ways(struct process *p, struct found *profds, struct found *kernels)
{
	const struct unwind *u = &scratch.unwind;

	unwind_begin(&scratch.unwind, &p->task, FIRST, p->max);
	require(unwind_take_leaf(&scratch.unwind, &p->task, &p->r, !(p->flags & FLAG_SYSCALL)));
	walk_in_profd(p, u->r, false, profds);
	check_end(profds, p->max);
	walk_in_kernel(p, kernels);
	if (u->unfinished) {
		check_rest(&u->r);
		walk_in_profd(p, u->r, u->pushed, kernels);
	}
	/* A worker of the kernel's has no program. */
	if (!p->r.ip && !p->r.sp)
		return;
	check_end(kernels, p->max);
	/* In the kernel there are bounds for guesses and for what cannot be read; registers survive
	 * vsyscalls. */
	if (u->guess.work > UNWIND_GUESS_WORK || p->flags & FLAG_TORN ||
	    p->r.ip >= UNWIND_USER_LIMIT || u->view.memory.n_faults >= UNWIND_FAULTS_MAX ||
	    u->view.memory.code.n_faults >= UNWIND_FAULTS_MAX)
		return;
	require(kernels->n == profds->n && kernels->quality == profds->quality &&
		kernels->reason == profds->reason);
	require(!memcmp(kernels->frames, profds->frames, profds->n * sizeof(*profds->frames)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process p = {.data = data, .size = size};
	struct found kernels = {0}, profds = {0};

	p.task = (struct task_struct){.mm = &p.mm, .pid = PID, .tgid = PID};
	p.flags = process_take(&p);
	p.max = 1 + process_take(&p) % ABI_USER_FRAMES_MAX;
	take_code(&p);
	take_registers(&p);
	p.task.thread.fsbase = take_wide(&p);
	p.mm.start_stack = take_wide(&p);
	p.mm.start_code = take_wide(&p);
	p.mm.end_code = take_wide(&p);
	load_table(&p);
	take_stack(&p);
	memcpy(maps.mappings, layout, sizeof(layout));
	publish(PID, N_MAPPINGS, 500);
	kernels.frames = calloc(p.max, sizeof(*kernels.frames));
	profds.frames = calloc(p.max, sizeof(*profds.frames));
	require(kernels.frames && profds.frames);
	walk_both_ways(&p, &profds, &kernels);
	free(kernels.frames);
	free(profds.frames);
	free(p.table);
	return 0;
}
