/* SPDX-License-Identifier: MIT */
/*
 * A process of an interpreter whose memory is anything: chains of frames without an end, objects
 * and texts that are none. The BPF programs' walk, built as an ordinary program, has to end, with
 * what has room in a record; and what it sends of code objects is decoded as the image worker does.
 *
 * Input: the interpreter, where a frame pointer leads, and then words of two bytes, which fill the
 * memory again and again: pointers into it, with V8's mark or without, and numbers in either half
 * of a word. The state of the thread is where it should be, and a few texts are.
 */
#include <stdlib.h>

#include "common/frame.h"
#include "tests/unit/ingest/bpf_stubs.h"

/* What profd's own walk has by the same names. */
#define unwind_memory walk_memory
#define unwind_read   walk_read
#include "common/runtime/python_row.h"
#include "common/utf8.h"
#include "daemon/ingest/source_bpf_record.h"
#include "daemon/worker/runtime/interpreter.h"
#undef unwind_read
#undef unwind_memory

enum { PID = 77, FIRST = 2, V8 = 7, STATE = 0x100, TLS_AT = 0x40, READS_MAX = 1 << 17 };
#define THREAD (STACK_BASE + 0x5000)
#define TSTATE (STACK_BASE + 0x5800)
#define START  (STACK_BASE + 0x4000)
#define TEXTS  (STACK_BASE + 0xf000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct runtime_row v8_row = {.kind = RUNTIME_V8,
					  .version = RUNTIME_V8_VERSION | 0x0b03,
					  .v8 = {.shared = 0x106,
						 .script = 0xa7,
						 .scope = 0x10a,
						 .function_shared = 24,
						 .positions = 32,
						 .bytecodes = 53}};
static struct super_block super_block;
static struct inode inode = {.i_sb = &super_block, .i_ino = 2, .i_size = 3};
static struct file file = {.f_inode = &inode};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void on_code(const struct abi_code *raw)
{
	struct source_bpf_code sent;
	struct decoded_code decoded;

	require(source_bpf_decode_code((const uint8_t *)raw, ABI_CODE_HEAD + raw->table_bytes,
				       &sent));
	code_decode(&sent.code, &decoded);
	require(utf8_is_valid(decoded.name) && utf8_is_valid(decoded.file));
	require(code_decode_line(&sent.code, 2 * raw->first_line) <= INT32_MAX);
}

static void put_word(uint64_t address, uint64_t word)
{
	stack.wide[(address - STACK_BASE) / 8] = word;
}

static uint64_t word_of(unsigned n)
{
	switch (n & 3) {
	case 0:
		return STACK_BASE + (n & 0xfff8);
	case 1:
		return STACK_BASE + (n & 0xfff8) + 1;
	case 2:
		return n >> 2;
	default:
		return (uint64_t)(n >> 2) << 32;
	}
}

static void fill_memory(const uint8_t *data, size_t size)
{
	const size_t n = size / 2;

	for (size_t i = 0; n && i < STACK_BYTES / 8; i++)
		stack.wide[i] = word_of(data[i % n * 2] | data[i % n * 2 + 1] << 8);
}

/* The names that make a thread's one be looked for, as an interpreter has them. */
static void put_texts(const struct runtime_row *row)
{
	static const char *const texts[] = {"Thread._bootstrap", "_bootstrap", "_name", "worker"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint64_t at = TEXTS + 0x80 * i;

		put_word(at + 16, strlen(texts[i]));
		put_word(at + 32, 1 << 2 | 32 | 64);
		memcpy(stack.bytes + (at + row->text_ascii - STACK_BASE), texts[i],
		       strlen(texts[i]) + 1);
	}
}

/* The thread's state is what the interpreter itself has for it. */
static void put_thread(const struct runtime_row *row)
{
	if (row->kind == RUNTIME_V8)
		return;
	if (row->current)
		put_word(START + STATE + row->current, TSTATE);
	put_word(THREAD + TLS_AT, TSTATE);
	put_word(TSTATE + row->thread_id, THREAD);
}

static void check_frames(const struct runtime *r)
{
	unsigned n_codes = 0, before = 0;

	require(r->n <= ABI_RUNTIME_MAX && r->n_ends <= ABI_GROUPS_MAX && r->next <= r->n_ends);
	for (unsigned i = 0; i < r->n; i++)
		n_codes += (r->entries[i].kind & 0xff) == ABI_RUNTIME_CODE;
	require(n_codes <= ABI_CODES_MAX);
	for (unsigned i = 0; !r->is_v8 && i < r->n_ends; i++) {
		require(r->ends[i] < r->n && r->ends[i] >= before);
		before = r->ends[i] + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mm_struct mm = {.exe_file = &file,
			       .start_stack = STACK_BASE + STACK_BYTES,
			       .start_code = START};
	struct task_struct task = {.mm = &mm, .pid = PID + 1, .tgid = PID, .group_leader = &task};
	struct context_registers regs = {
		.ip = 0x401000, .sp = STACK_BASE, .bp = STACK_BASE, .cs = 0x33};

	if (size < 4)
		return 0;
	stubs_reset();
	memset(scratch.runtime.marks, 0, sizeof(scratch.runtime.marks));
	stub_on_code = on_code;
	task.thread.fsbase = THREAD;
	maps.runtime = v8_row;
	if (data[0] % 8 != V8)
		require(python_row(0x0308 + data[0] % 8, &maps.runtime));
	maps.runtime.state = STATE;
	maps.runtime.state_bytes = data[1] << 8;
	maps.runtime.tls_at = maps.runtime.current ? 0 : TLS_AT;
	maps.runtime_key = (struct abi_runtime_key){.inode = 2, .size = 3};
	fill_memory(data + 4, size - 4);
	put_texts(&maps.runtime);
	put_thread(&maps.runtime);
	regs.bp = STACK_BASE + (data[2] | data[3] << 8);
	scratch.record.pid = PID;
	scratch.record.tid = PID + 1;
	memset(scratch.record.comm, 0, sizeof(scratch.record.comm));
	unwind_user(&scratch, &task, &regs, true, FIRST, ABI_USER_FRAMES_MAX);
	check_frames(&scratch.runtime);
	require(n_told <= RUNTIME_TOLD_MAX && n_reads <= READS_MAX);
	require(!scratch.record.comm[ABI_COMM_SIZE - 1]);
	return 0;
}
