/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_RUNTIME_FIXTURE_H
#define PROFD_TESTS_UNIT_RUNTIME_FIXTURE_H

/* A Python program of two entries of the loop, of 3.11, on the stack of unwind_fixture.h. */
#include "tests/unit/ingest/unwind_fixture.h"

#include "common/cleanup.h"
#include "common/runtime/python_row.h"

#define START_CODE 0x7ffd00004000ull /* all there is, is on the stack */
#define STATE      0x100
#define KEY        3
#define THREAD     (STACK_BASE + 0x5000)
#define TSTATE     (STACK_BASE + 0x5800)
#define OTHER      (STACK_BASE + 0x5a00) /* a thread state, too */
#define LOOP       0x7ffd00100000ull     /* its code */
#define FRAMES     (STACK_BASE + 0x6000)
#define CODES      (STACK_BASE + 0x8000)
#define DEEP       (STACK_BASE + 0x8800)
#define TEXT       (STACK_BASE + 0xc000)
#define TABLE      (STACK_BASE + 0xd000)
/* On the stack of native frame @i: its first words are where a struct _PyCFrame has its own. */
#define CFRAME(i) (STACK_BASE + 32 * (i) + 24)

static struct runtime_row row;

static inline void poke_word(__u64 address, __u64 value)
{
	stack.wide[(address - STACK_BASE) / 8] = value;
}

static inline void put_half(__u64 address, __u32 value)
{
	stack.narrow[(address - STACK_BASE) / 4] = value;
}

static inline __u64 frame_at(unsigned i)
{
	return FRAMES + 0x80 * i;
}

static inline __u64 code_at(unsigned i)
{
	return CODES + 0x200 * i;
}

/* Frame @i, at instruction 10 of a code of its own, called by @previous. */
static inline void put_frame(unsigned i, __u64 previous, bool is_entry)
{
	poke_word(frame_at(i) + row.frame_code, code_at(i));
	poke_word(frame_at(i) + row.frame_previous, previous);
	poke_word(frame_at(i) + row.frame_instruction, code_at(i) + row.code_instructions + 20);
	put_half(frame_at(i) + row.frame_mark, is_entry);
	put_half(code_at(i) + row.code_line, 100 + i);
	poke_word(code_at(i) + row.code_file, TEXT);
	poke_word(code_at(i) + row.code_name, TEXT);
	poke_word(code_at(i) + row.code_table, TABLE);
	put_half(code_at(i) + row.code_traceable, 2);
}

/* Two entries of the loop: frames 0 and 1 in native frame 1, frame 2 in native frame 3. */
static inline int setup_python(void **state)
{
	setup(state);
	assert_true(python_row(0x030b, &row));
	row.state = STATE;
	maps.runtime_key = (struct abi_runtime_key){.inode = 2, .size = 3, .device = 1};
	maps.runtime = row;
	mm.start_code = START_CODE;
	task.group_leader = &task;
	task.thread.fsbase = THREAD;
	put_half(START_CODE + STATE + row.key, KEY);
	poke_word(START_CODE + STATE + row.current, 0);
	poke_word(THREAD + 0x310 + 16 * KEY + 8, TSTATE);
	poke_word(TSTATE + row.thread_id, THREAD);
	poke_word(TSTATE + row.thread_at, CFRAME(1));
	build_chain(5, 0);
	poke_word(CFRAME(1) + row.cframe_frame, frame_at(0));
	poke_word(CFRAME(1) + row.cframe_previous, CFRAME(3));
	poke_word(CFRAME(3) + row.cframe_frame, frame_at(2));
	poke_word(CFRAME(3) + row.cframe_previous, 0);
	put_frame(0, frame_at(1), false);
	put_frame(1, frame_at(2), true);
	put_frame(2, 0, true);
	poke_word(TEXT + 16, 4);
	poke_word(TEXT + 32, 1 << 2 | 32 | 64);
	memcpy(stack.bytes + (TEXT + 48 - STACK_BASE), "name", 4);
	poke_word(TABLE + 16, 3);
	memcpy(stack.bytes + (TABLE + 32 - STACK_BASE), "\x80\x01\x02", 3);
	return 0;
}

static inline void assert_entry(unsigned i, __u32 kind, __u32 at)
{
	assert_true(i < scratch.runtime.n);
	assert_int_equal(scratch.runtime.entries[i].kind, kind);
	assert_int_equal(scratch.runtime.entries[i].at, at);
}

#endif
