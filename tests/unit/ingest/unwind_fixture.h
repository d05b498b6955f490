/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_INGEST_UNWIND_FIXTURE_H
#define TESTS_UNIT_INGEST_UNWIND_FIXTURE_H

/*
 * A process for the user walk of the BPF programs, bpf/unwind.bpf.h, built as an ordinary program:
 * code without an image, and an image with a table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ingest/bpf_stubs.h"

#define PID 77u

/* Code without an image, all over the address space below the stack: frame pointers. */
#define PLAIN_START 0x1000ull
#define PLAIN_END   0x20000000ull
/* Code with one. Its table says, by offset in the file: */
#define IMAGE        9u
#define IMAGE_START  0x20000000ull
#define IMAGE_OFFSET 0x4000u
#define AT_PUSH      0x4000u /* nothing pushed yet: CFA = sp + 8 */
#define AT_BODY      0x4100u /* CFA = sp + 32 */
#define AT_ROOT      0x4200u
#define AT_ODD       0x4300u
#define AT_SIGNAL    0x4400u
#define AT_NOTHING   0x4500u
#define AT_FRAME     0x4600u /* CFA = fp + 16, fp saved */
#define AT_END       0x5000u

static struct super_block super_block = {.s_dev = 1};
static struct inode program = {.i_sb = &super_block, .i_ino = 2, .i_size = 3};
static struct file file = {.f_inode = &program};
static struct mm_struct mm;
static struct task_struct task;
static struct bpf_perf_event_data ctx;

static inline __u64 image_address(__u32 offset)
{
	return IMAGE_START + offset - IMAGE_OFFSET;
}

/* One row a rule, each beginning a chunk of its own or in the middle of one. */
static inline void put_table(struct table_slot *slot, __u32 first)
{
	static const __u32 offsets[] = {AT_PUSH,   AT_BODY,    AT_ROOT,  AT_ODD,
					AT_SIGNAL, AT_NOTHING, AT_FRAME, AT_END};
	const struct rule push = {.kind = RULE_CFA, .cfa_offset = 8, .ra_offset = -8};
	const struct rule body = {.kind = RULE_CFA, .cfa_offset = 32, .ra_offset = -8};
	const struct rule frame = {.kind = RULE_CFA,
				   .base = RULE_BASE_FP,
				   .cfa_offset = 16,
				   .fp_kind = RULE_FP_AT_CFA,
				   .fp_offset = -16,
				   .ra_offset = -8};
	const __u64 rules[] = {rule_pack(&push),    rule_pack(&body),       RULE_WORD(RULE_ROOT),
			       RULE_WORD(RULE_ODD), RULE_WORD(RULE_SIGNAL), RULE_WORD(RULE_UNKNOWN),
			       rule_pack(&frame),   RULE_WORD(RULE_UNKNOWN)};
	const __u32 n_chunks = (AT_END >> TABLE_CHUNK_BITS) - (AT_PUSH >> TABLE_CHUNK_BITS) + 1;
	__u32 *chunks = (__u32 *)&maps.words[first + 8];
	__u32 *rows = (__u32 *)&maps.words[first + 8 + (n_chunks + 2) / 2];
	__u32 row = 0;

	memcpy(&maps.words[first], rules, sizeof(rules));
	for (__u32 chunk = 0; chunk < n_chunks; chunk++) {
		chunks[chunk] = row;
		while (row < 8 && (offsets[row] - AT_PUSH) >> TABLE_CHUNK_BITS == chunk) {
			rows[row] = row << TABLE_CHUNK_BITS | (offsets[row] & (TABLE_CHUNK - 1));
			row++;
		}
	}
	chunks[n_chunks] = row;
	*slot = (struct table_slot){.state = TABLE_LOADED,
				    .version = 1,
				    .first = first,
				    .n_rules = 8,
				    .n_chunks = n_chunks,
				    .first_chunk = AT_PUSH >> TABLE_CHUNK_BITS,
				    .n_rows = 8};
}

static inline int setup(void **state)
{
	(void)state;
	stubs_reset();
	maps.mappings[0] =
		(struct unwind_mapping){.start = PLAIN_START, .end = PLAIN_END, .slot = SLOT_NONE};
	maps.mappings[1] = (struct unwind_mapping){.start = IMAGE_START,
						   .end = image_address(AT_END),
						   .offset = IMAGE_OFFSET,
						   .image = IMAGE,
						   .slot = 3};
	put_table(&maps.slots[3], 100);
	publish(PID, 2, 500);
	mm = (struct mm_struct){.exe_file = &file, .start_stack = STACK_BASE + STACK_BYTES};
	task = (struct task_struct){.mm = &mm, .pid = PID, .tgid = PID};
	scratch.record.pid = PID;
	ctx = (struct bpf_perf_event_data){
		.regs = {.ip = 0x401000, .sp = STACK_BASE, .bp = STACK_BASE + 16, .cs = 0x33}};
	entry_regs = (struct pt_regs){
		.ip = 0x402000, .sp = STACK_BASE, .bp = STACK_BASE + 16, .cs = 0x33};
	return 0;
}

/* @n frames of 32 bytes, from STACK_BASE + 16; the last one's saved frame pointer is @last. */
static inline void build_chain(unsigned n, __u64 last)
{
	for (unsigned i = 0; i < n; i++) {
		stack.wide[2 + i * 4] = i == n - 1 ? last : STACK_BASE + 16 + (i + 1) * 32;
		stack.wide[3 + i * 4] = 0x500000 + i * 0x100;
	}
}

static inline void walk(bool user, __u32 max)
{
	scratch.unwind.view.now_s = 5;
	unwind_user(&scratch, &task, &ctx.regs, user, 2, max);
}

static inline void assert_end(__u32 n, int quality, int reason)
{
	assert_int_equal(scratch.unwind.n, n);
	assert_int_equal(scratch.unwind.quality, quality);
	assert_int_equal(scratch.unwind.reason, reason);
	assert_int_equal(scratch.body[1], UINT64_MAX); /* the kernel's part is not touched */
	assert_int_equal(scratch.body[2 + n], UINT64_MAX);
}

static inline void assert_unfinished(bool unfinished, bool pushed)
{
	assert_int_equal(scratch.unwind.unfinished, unfinished);
	if (unfinished)
		assert_int_equal(scratch.unwind.pushed, pushed);
}

static inline void again(void)
{
	memset(scratch.body, 0xff, sizeof(scratch.body));
}

static inline __u64 in_image(__u32 offset)
{
	return ABI_FRAME_IMAGE(IMAGE, offset);
}

#endif
