/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_RUNTIME_BPF_H
#define PROFD_BPF_RUNTIME_BPF_H

/*
 * An interpreter's own frames. A process is one's if its program's file is in `runtimes`: no
 * process need be known, only the file, once. (Of one that was loaded late, profd must have told
 * which mapping it is.) Its row (common/runtime/row.h) says where the thread's state is and how
 * frames are linked. The chain is walked as a whole, before the native stack, in groups: one for
 * each entry of the evaluation loop. An entry leaves something on the C stack, whose address is the
 * group's anchor; the native frame that holds the anchor, between its stack pointer and its
 * caller's, is the loop's (runtime_place(), called for each native frame).
 *
 * A frame is the id of its code (runtime_code.bpf.h), and how far in that it is.
 *
 * Of a chain that is too long, the frames next to the leaf are taken, and the others skipped as far
 * as to the end of their group, for its anchor.
 *
 * What a process has there may be anything: a chain ends at its first fault or after 2,048 frames,
 * and only memory of our own is written.
 */
#include "bpf/runtime_code.bpf.h"
#include "bpf/runtime_thread.bpf.h"
#include "bpf/tables.bpf.h"

#define RUNTIME_STEPS_MAX 2048  /* frames that are looked at */
#define UNWIND_PAGE       4096u /* the smallest there is */

/* The list of what is loaded, as debuggers know it (<link.h>): struct r_debug, struct link_map. */
#define R_DEBUG_MAP   8
#define LIBRARIES_MAX 16 /* of them are looked at */

/* Where glibc has what pthread_getspecific(3) gives: struct pthread of nptl/descr.h. */
#define GLIBC_FIRST_BLOCK 0x310
#define GLIBC_BLOCKS      0x510
#define GLIBC_BLOCK_KEYS  32
#define GLIBC_KEYS_MAX    1024

/* musl's struct pthread of src/internal/pthread_impl.h: its values, by key. */
#define MUSL_VALUES 0x80

/*
 * Thread-local memory, by module (ELF Handling For Thread-Local Storage, 3.4.6). An entry of glibc
 * has what to free, too.
 */
#define THREAD_VECTOR            8
#define THREAD_VECTOR_ENTRY      16
#define THREAD_VECTOR_ENTRY_MUSL 8

#define PYTHON_OWNED_BY_GENERATOR 1

struct runtime_context {
	struct runtime *runtime;
};

/* profd puts rows there, which the least recently used one makes room for. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ABI_RUNTIMES_MAX);
	__type(key, struct abi_runtime_key);
	__type(value, struct runtime_row);
} runtimes SEC(".maps");

/* Chains that ended at a fault or were too long. */
__u64 runtime_broken;

/* @at: of the window. */
static __always_inline __u64 runtime_frame_word(const struct runtime *r, __u64 at)
{
	return r->window_words[at >> 3 & (RUNTIME_WINDOW_WORDS - 1)];
}

static __always_inline __u8 runtime_frame_byte(const struct runtime *r, __u64 at)
{
	return ((const __u8 *)r->window_words)[at & (8 * RUNTIME_WINDOW_WORDS - 1)];
}

static __always_inline bool runtime_push(struct runtime *r, __u64 value, __u32 at, __u32 kind)
{
	__u64 i = r->n;

	__asm__ volatile("" : "+r"(i));
	if (i >= ABI_RUNTIME_MAX)
		return false;
	r->entries[i].value = value;
	r->entries[i].at = at;
	r->entries[i].kind = kind;
	r->n = i + 1;
	return true;
}

/* The value of the interpreter's key, of the thread whose control block is at @thread. */
__attribute__((noinline)) int runtime_read_slot(struct runtime *r, __u64 thread)
{
	__u64 key, block;

	if (!r)
		return 0;
	key = (__u32)runtime_read_word(r->base + r->row.state + r->row.key);
	if (!thread || key >= GLIBC_KEYS_MAX)
		return 0;
	if (r->row.libc == RUNTIME_MUSL) {
		block = runtime_read_word(thread + MUSL_VALUES);
		r->slot.data = runtime_read_word(block + 8 * key);
		return r->slot.data != 0;
	}
	block = thread + GLIBC_FIRST_BLOCK;
	if (key >= GLIBC_BLOCK_KEYS)
		block = runtime_read_word(thread + GLIBC_BLOCKS + 8 * (key / GLIBC_BLOCK_KEYS));
	block += key % GLIBC_BLOCK_KEYS * sizeof(r->slot);
	if (bpf_probe_read_user(&r->slot, sizeof(r->slot), (const void *)block))
		return 0;
	return r->slot.data != 0;
}

/*
 * How long what is read of code objects holds. A frame keeps its own alive. So where the
 * interpreter numbers those that it makes, and the next number is what it was, there was no other
 * at the address that a frame says since; also where it counts those that are gone. Else it is for
 * this walk. An interpreter may be where another one was, which began to count anew: it is so for
 * the main one alone, and with the key that it was made with.
 */
static __always_inline void runtime_begin_codes(struct runtime *r, __u64 thread)
{
	__u64 state = r->base + r->row.state, hash = r->seed, at, count;
	__u64 interpreter = r->thread_words[r->row.thread_interpreter >> 3];
	bool is_static = r->row.count_kind == RUNTIME_COUNT_STATIC;
	bool is_musl = r->row.libc == RUNTIME_MUSL;

	r->known_seed = runtime_mix(r->seed, codes_forgotten);
	r->is_checked = false;
	r->holds = ++r->n_walks;
	if (!r->row.count || interpreter - state >= r->row.state_bytes)
		return;
	/* Two interpreters may both write a number that is old. */
	if (is_static && runtime_read_word(state + r->row.interpreters) != interpreter)
		return;
	/* musl's keys are the same when they are made again. */
	if (!is_static && (is_musl || (!r->slot.data && !runtime_read_slot(r, thread))))
		return;
	/* It is glibc's, and what the interpreter itself put there. */
	if (!is_static && r->slot.data != r->thread_state)
		return;
	at = (is_static ? state : interpreter) + r->row.count;
	if (bpf_probe_read_user(&count, sizeof(count), (const void *)at))
		return;
	if (r->row.count_kind != RUNTIME_COUNT_ENDED)
		count = (__u32)count;
	if (!count && r->row.count_kind != RUNTIME_COUNT_ENDED)
		return;
	hash = runtime_mix(hash, is_static ? 0 : r->slot.sequence);
	r->holds = RUNTIME_HOLDS_LONGER | runtime_mix(hash, count);
}

/* How far the frame at @at is in its @code, bytes. */
static __always_inline __s64 runtime_find_instruction(const struct runtime *r, __u64 at, __u64 code)
{
	__u64 instruction = runtime_frame_word(r, at + r->row.frame_instruction);

	if (!r->row.instruction_unit)
		return instruction - (code + r->row.code_instructions);
	/* -1 has not begun yet. */
	return (__s32)instruction < 0 ? RUNTIME_AT_UNKNOWN
				      : (__u32)instruction * r->row.instruction_unit;
}

/* The frame at @at of the window, unless tracebacks hide it. False: there the chain is broken. */
static __always_inline bool runtime_add_frame(struct runtime *r, __u64 at)
{
	__u64 code = runtime_frame_word(r, at + r->row.frame_code) & ~7ull;
	__s64 instruction = runtime_find_instruction(r, at, code);
	const struct runtime_known *known = runtime_find_code(r, code);

	if (!known)
		return false;
	r->outer_frame = r->frame;
	r->outer_name = known->content.name;
	if (instruction < 2ll * (__s32)known->traceable &&
	    runtime_frame_byte(r, at + r->row.frame_owner) != PYTHON_OWNED_BY_GENERATOR)
		return true;
	return runtime_push(r, known->id, instruction < 0 ? RUNTIME_AT_UNKNOWN : instruction,
			    ABI_RUNTIME_CODE);
}

/* The frames since the last end belong together. Returns whether there was room. */
__attribute__((noinline)) int runtime_end_group(struct runtime *r, __u64 anchor)
{
	bool is_counted;
	__u64 i;

	if (!r || r->n == r->n_begun)
		return 1;
	is_counted = r->row.kind == RUNTIME_PYTHON_COUNTED;
	i = r->n_ends;
	__asm__ volatile("" : "+r"(i));
	if (i >= ABI_GROUPS_MAX)
		return 0;
	r->ends[i] = r->n;
	r->n_ends = i + 1;
	if (!runtime_push(r, is_counted ? r->base + r->row.state + r->row.loop : anchor,
			  is_counted ? r->row.loop_bytes : ABI_UNPLACED,
			  is_counted ? ABI_RUNTIME_COUNTED : ABI_RUNTIME_GROUP))
		return 0;
	r->n_begun = r->n;
	return 1;
}

/*
 * Reads the frame at @frame into the window. A thread's frames are stored one after the other,
 * callers below: what is below in the same page is read with it, which cannot fail where the frame
 * itself does not. Returns whether it could.
 */
__attribute__((noinline)) int runtime_read_window(struct runtime *r, __u64 frame)
{
	__u64 from = frame & ~(__u64)(UNWIND_PAGE - 1), end, n;

	if (!r)
		return 0;
	end = frame + r->row.frame_bytes;
	if (from + sizeof(r->window_words) < end)
		from = end - sizeof(r->window_words);
	n = end - from;
	r->window = r->window_last = 0;
	__asm__ volatile("" : "+r"(n));
	if (frame & 7 || n > sizeof(r->window_words) ||
	    bpf_probe_read_user(r->window_words, n, (const void *)from))
		return 0;
	r->window = from;
	r->window_last = frame - from;
	return 1;
}

/*
 * The frame at @at is the last one of an entry of the loop, whose struct _PyCFrame is
 * r->cframe: on to the next. False: no entry runs it. A generator that has the one it delegates to
 * handle a throw() is in the chain all the same (_gen_throw()). An entry's last frame was called by
 * the newest one of the entry before (3.11). In 3.10, the generator's stack is put aside, as that
 * of one that is suspended, though it is said to run.
 */
static __always_inline bool runtime_leave_entry(struct runtime *r, __u64 at)
{
	struct runtime_cframe next = {};

	if (r->row.cframe_frame == RUNTIME_NO_CFRAME) {
		if (runtime_frame_word(r, at + r->row.frame_generator) &&
		    (__s32)runtime_frame_word(r, at + r->row.frame_depth) >= 0 &&
		    !runtime_frame_byte(r, at + r->row.frame_state))
			return false;
		r->cframe = runtime_read_word(r->cframe + r->row.cframe_previous);
		return true;
	}
	bpf_probe_read_user(&next, sizeof(next),
			    (const void *)(r->of_cframe.previous + r->row.cframe_frame));
	if (next.frame != runtime_frame_word(r, at + r->row.frame_previous))
		return false;
	r->cframe = r->of_cframe.previous;
	r->of_cframe = next;
	return true;
}

/* The next frame of the chain. Returns 1 at its end, or at a fault: then r->frame is not 0. */
static long runtime_step(__u32 i, struct runtime_context *context)
{
	struct runtime *r = context->runtime;
	__u64 frame = r->frame, at = frame - r->window, anchor = frame, previous;
	bool is_full, is_end, is_shim;

	(void)i;
	if (!frame || (at > r->window_last && !runtime_read_window(r, frame)))
		return 1;
	at = frame - r->window;
	previous = runtime_frame_word(r, at + r->row.frame_previous);
	is_end = runtime_frame_byte(r, at + r->row.frame_mark) >= r->row.end_mark;
	is_shim = is_end && r->row.kind == RUNTIME_PYTHON_SHIM;
	is_full = r->n - r->n_ends >= ABI_CODES_MAX;
	if (is_full && (!is_shim || previous))
		r->is_cut = true;
	if (!is_full && !is_shim && !runtime_add_frame(r, at))
		return 1;
	if (is_end && r->row.kind == RUNTIME_PYTHON_CFRAME) {
		anchor = r->cframe;
		is_end = runtime_leave_entry(r, at);
	}
	if (is_end && (!runtime_end_group(r, anchor) || is_full))
		return 1;
	r->frame = previous;
	return 0;
}

/*
 * The thread state that the interpreter itself takes for this thread's, or 0: while the thread does
 * not hold the GIL there is none, or it is another's.
 */
static __always_inline __u64 runtime_find_current(const struct runtime *r, __u64 state,
						  __u64 thread)
{
	__u64 index[2], at = state, vector, bytes = THREAD_VECTOR_ENTRY;

	if (!r->row.current && !r->row.tls_at && !r->row.tls_index)
		return 0;
	if (r->row.current) {
		at += r->row.current;
	} else if (!r->row.tls_index) {
		at = thread + r->row.tls_at;
	} else {
		if (r->row.libc == RUNTIME_MUSL)
			bytes = THREAD_VECTOR_ENTRY_MUSL;
		vector = runtime_read_word(thread + THREAD_VECTOR);
		if (bpf_probe_read_user(index, sizeof(index), (void *)(at + r->row.tls_index)))
			return 0;
		at = runtime_read_word(vector + bytes * index[0]) + index[1] + r->row.tls_at;
	}
	return runtime_read_word(at);
}

/* Reads the thread state at @found, if it says that it is that of @thread. */
static __always_inline bool runtime_read_thread(struct runtime *r, __u64 found, __u64 thread)
{
	r->thread_state = found;
	return found &&
	       !bpf_probe_read_user(r->thread_words, 8 * RUNTIME_THREAD_WORDS,
				    (const void *)found) &&
	       r->thread_words[r->row.thread_id >> 3] == thread;
}

/* The same of the thread whose control block is at @thread. */
static __always_inline bool runtime_find_thread(struct runtime *r, __u64 state, __u64 thread)
{
	__u64 found = runtime_find_current(r, state, thread);

	r->slot.data = 0;
	return runtime_read_thread(r, found, thread) ||
	       (runtime_read_slot(r, thread) && runtime_read_thread(r, r->slot.data, thread));
}

/* Is the library of found_row still at found_base? Then it is what the process runs. */
static __always_inline int runtime_take_library(struct runtime *r)
{
	__u32 value = runtime_read_word(r->found_base + r->found_row.check);

	if (value != r->found_row.check_value)
		return 0;
	r->row = r->found_row;
	r->base = r->found_base;
	r->found_seed = r->seed;
	return 1;
}

/*
 * struct abi_runtime_key, which is on the stack: Linux 6.1 takes no key that a global function was
 * given.
 */
static __always_inline const struct runtime_row *runtime_row(__u64 inode, __u64 size, __u32 device)
{
	const struct abi_runtime_key key = {.inode = inode, .size = size, .device = device};

	return bpf_map_lookup_elem(&runtimes, &key);
}

/*
 * Among what the process has loaded, by its r_debug that @debug points to: the interpreter. Puts
 * its row into r->row, and where it is into r->base. Returns whether there is one.
 */
__attribute__((noinline)) int runtime_find_library(struct runtime *r, __u64 debug)
{
	__u64 at;

	if (!r)
		return 0;
	if (r->found_seed == r->seed && runtime_take_library(r))
		return 1;
	r->found_seed = 0;
	debug = runtime_read_word(debug);
	at = debug ? runtime_read_word(debug + R_DEBUG_MAP) : 0;
	for (__u32 i = 0; i < LIBRARIES_MAX && at; i++) {
		const struct runtime_row *row;

		if (bpf_probe_read_user(&r->library, sizeof(r->library), (const void *)at))
			return 0;
		row = runtime_row(0, r->library.dynamic - r->library.address, 0);
		if (row) {
			r->found_row = *row;
			r->found_base = r->library.address;
			if (runtime_take_library(r))
				return 1;
		}
		at = r->library.next;
	}
	return 0;
}

/*
 * The same by what profd has told of the process's mappings: an interpreter that was loaded late,
 * or is not among the first. @mapping: which one its code is.
 */
__attribute__((noinline)) int runtime_find_mapped(struct runtime *r, __u32 mapping)
{
	const struct unwind_mapping *m = bpf_map_lookup_elem(&mappings, &mapping);
	const struct runtime_row *row;

	if (!r || !m)
		return 0;
	r->base = m->start - m->offset;
	row = runtime_row(0, m->image, ABI_RUNTIME_IMAGE);
	if (!row)
		return 0;
	r->row = *row;
	return 1;
}

/* Walks the chain of the process whose row is in r->row. A global function: see tables.bpf.h. */
__attribute__((noinline)) int runtime_walk(struct runtime *r, __u64 thread)
{
	struct runtime_context context = {.runtime = r};

	if (!r || !runtime_find_thread(r, r->base + r->row.state, thread))
		return 0;
	runtime_begin_codes(r, thread);
	r->window = r->window_last = 0;
	r->frame = r->thread_words[r->row.thread_at >> 3];
	r->cframe = r->frame;
	if (r->row.cframe_frame != RUNTIME_NO_CFRAME) {
		if (bpf_probe_read_user(&r->of_cframe, sizeof(r->of_cframe),
					(const void *)(r->cframe + r->row.cframe_frame)))
			return 0;
		r->frame = r->of_cframe.frame;
	} else if (r->row.thread_frame)
		r->frame = r->thread_words[r->row.thread_frame >> 3];
	bpf_loop(RUNTIME_STEPS_MAX, runtime_step, &context, 0);
	if (r->frame)
		__sync_fetch_and_add(&runtime_broken, 1);
	runtime_end_group(r, ~0ull);
	return 0;
}

/* The row of the program that @task runs, if that is an interpreter. */
static __always_inline const struct runtime_row *runtime_find_row(struct task_struct *task)
{
	const struct file *file = task->mm->exe_file;
	const struct inode *inode;

	if (!file)
		return NULL;
	inode = file->f_inode;
	return runtime_row(inode->i_ino, inode->i_size, inode->i_sb->s_dev);
}

/* Puts the row of what @task runs into r->row, where it is into r->base, and r->seed. */
static __always_inline bool runtime_find(struct runtime *r, struct task_struct *task,
					 __u64 start_code, const struct unwind_root *root)
{
	const struct runtime_row *row = runtime_find_row(task);
	bool is_mapped = root && root->runtime;

	if (!row && !is_mapped)
		return false;
	r->seed = runtime_mix(task->group_leader->start_boottime, r->pid);
	r->seed = runtime_mix(r->seed, task->self_exec_id);
	if (row) {
		r->row = *row;
		r->base = start_code;
		if (r->row.kind != RUNTIME_LIBRARY ||
		    runtime_find_library(r, start_code + r->row.state))
			return true;
	}
	return is_mapped && runtime_find_mapped(r, root->first + root->runtime - 1);
}

/*
 * The interpreter's frames of @task, the current one, which @of is from; with none, r->n is 0.
 * @of->comm becomes the thread's name, if only the interpreter knows that. @root: its address
 * space, NULL unknown.
 */
static __always_inline void runtime_begin(struct runtime *r, struct task_struct *task,
					  struct abi_sample *of, __u64 start_code, __u64 thread,
					  const struct unwind_root *root)
{
	r->n = 0;
	r->n_ends = 0;
	r->next = 0;
	r->is_cut = false;
	r->is_v8 = 0;
	r->is_broken = 0;
	r->pid = of->pid;
	if (!task->mm || !start_code || !runtime_find(r, task, start_code, root))
		return;
	r->uid = of->owner & ABI_OWNER_KNOWN ? of->uid : ABI_NOBODY;
	r->n_told = 0;
	r->n_begun = 0;
	r->n_chunks = 0;
	r->n_strange = 0;
	r->n_pieces = 0;
	r->n_functions = 0;
	r->no_positions = 0;
	r->is_v8 = r->row.kind == RUNTIME_V8;
	r->cframe = 0;
	r->outer_name = 0;
	if (r->is_v8)
		return;
	runtime_walk(r, thread);
	if (of->tid != of->pid && r->outer_name && !runtime_is_named(task) &&
	    runtime_name_thread(r))
		__builtin_memcpy(of->comm, r->thread_name, sizeof(of->comm));
}

/*
 * The native user frame @at has its code at @pc, and the stack from @sp up to @cfa, its caller's.
 * If that holds the next group's anchor, the group goes before it; also if the anchor was gone by.
 */
static __always_inline void runtime_place(struct runtime *r, __u32 at, __u64 pc, __u64 sp,
					  __u64 cfa)
{
	struct abi_runtime_entry *end;
	__u64 next = r->next, i;
	bool is_counted;

	if (next >= r->n_ends)
		return;
	__asm__ volatile("" : "+r"(next));
	if (next >= ABI_GROUPS_MAX)
		return;
	i = r->ends[next];
	__asm__ volatile("" : "+r"(i));
	if (i >= ABI_RUNTIME_MAX)
		return;
	end = &r->entries[i];
	is_counted = end->kind == ABI_RUNTIME_COUNTED;
	if (is_counted ? pc - end->value >= end->at : end->value >= cfa)
		return;
	end->at = at;
	if (is_counted || end->value >= sp)
		end->kind = ABI_RUNTIME_LOOP;
	r->next = next + 1;
}

#endif
