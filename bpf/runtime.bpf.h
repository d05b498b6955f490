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
 * A frame is the id of its code, and how far in that it is. At the first sight of an id on this
 * machine the name, the file and the table of lines are sent, on a ring of their own. An id is a
 * hash of the process and of what a code object points to: memory that is used again for another
 * one is another id. `codes_told` has the ids that were sent, by their first bits; one that lost
 * its place is sent again, which costs time alone. What was read of code objects is kept per CPU,
 * for this walk, or for as long as the interpreter's own count says that no other was made.
 *
 * Of a chain that is too long, the frames next to the leaf are taken, and the others skipped as far
 * as to the end of their group, for its anchor.
 *
 * What a process has there may be anything: a chain ends at its first fault or after 2,048 frames,
 * a tick sends RUNTIME_TOLD_MAX code objects at most, and only memory of our own is written.
 */
#include "bpf/abi.h"

#include "bpf/kernel_types.h"
#include "bpf/tables.bpf.h"
#include "bpf/v8_state.bpf.h"

#define RUNTIME_TOLD_MAX  64   /* code objects in a tick */
#define RUNTIME_STEPS_MAX 2048 /* frames that are looked at */

/* The list of what is loaded, as debuggers know it (<link.h>): struct r_debug, struct link_map. */
#define R_DEBUG_MAP   8
#define LIBRARIES_MAX 16 /* of them are looked at */
struct runtime_library {
	__u64 address, name, dynamic, next;
};

/* Where glibc has what pthread_getspecific(3) gives: struct pthread of nptl/descr.h. */
#define GLIBC_FIRST_BLOCK 0x310
#define GLIBC_BLOCKS      0x510
#define GLIBC_BLOCK_KEYS  32
#define GLIBC_KEYS_MAX    1024

/* What was read of a thread's frames last: each read costs as much as a good many bytes. */
#define RUNTIME_WINDOW_WORDS 128
#define UNWIND_PAGE          4096u /* the smallest there is */

/* Thread-local memory, by module (ELF Handling For Thread-Local Storage, 3.4.6). */
#define THREAD_VECTOR       8
#define THREAD_VECTOR_ENTRY 16

#define PYTHON_OWNED_BY_GENERATOR 1
/* Of the state of a str object. */
#define PYTHON_TEXT_WIDTH(state) ((state) >> 2 & 7)
#define PYTHON_TEXT_COMPACT      32
#define PYTHON_TEXT_ASCII        64

/* What is known of the code object at `code` of a process, in walks that have the same `holds`. */
struct runtime_known {
	__u64 code, holds, id;
	__u32 pid;
	__u32 traceable; /* the first instruction that tracebacks show */
};

#define RUNTIME_KNOWN_BITS 8

/* What is read of a code object begins at a multiple of 8, and is no longer. */
#define RUNTIME_CODE_FROM  0x78
#define RUNTIME_CODE_BYTES 136

/* `holds` of more than one walk; else it is the walk's number. */
#define RUNTIME_HOLDS_LONGER (1ull << 63)

/* glibc's struct pthread_key_data. The sequence is the key's: another one each time it is made. */
struct runtime_slot {
	__u64 sequence, data;
};

struct runtime {
	struct runtime_row row;
	__u64 base; /* where it is loaded: its row's addresses count from there */
	__u64 seed; /* of ids */
	struct runtime_library library;
	struct runtime_row found_row; /* of the library that was found last, */
	__u64 found_base, found_seed; /* where it is, and whose */
	__u64 frame, cframe; /* V8: the frame pointer to look at next, the one looked at last */
	__u64 window, window_end; /* of which addresses window_words is; both 0: none */
	__u64 holds, n_walks;     /* n_walks: of this CPU */
	__u32 pid, uid;
	__u32 n, n_ends, next; /* entries; ends among them; those that are placed */
	__u32 n_told;
	__u32 frame_open; /* frames since the last end */
	bool is_cut;      /* there are frames that were skipped */
	bool is_checked;  /* that the row's offsets in the interpreter's state are right */
	__u16 ends[ABI_GROUPS_MAX];
	__u32 frame_at; /* bytes from window_words to the frame */
	__u64 window_words[RUNTIME_WINDOW_WORDS];
	__u64 thread_words[RUNTIME_THREAD_WORDS + 8]; /* a power of two, as below */
	__u64 code_words[RUNTIME_CODE_WORDS + 5];
	struct runtime_slot slot;
	__u64 thread_state; /* of which thread_words are */
	struct runtime_known known[1 << RUNTIME_KNOWN_BITS];
	struct abi_runtime_entry entries[ABI_RUNTIME_MAX];
	struct abi_code code;
	struct v8_text text;
	struct v8_seen seen;
	struct v8_function function;
	struct v8_marks marks[V8_SCRIPTS];
	__u32 n_strange, n_pieces; /* of this tick: see v8.bpf.h */
	__u32 n_chunks;            /* of scripts, that were looked at in this tick */
	__u32 n_functions;         /* V8's, that were found in this tick */
	__u64 no_positions;        /* an object that V8 has where it has none; 0 */
	__u8 is_v8;                /* its frames are added by the native walk */
	__u8 is_broken;            /* some of them could not be */
};

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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_CODES_BYTES);
} codes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << ABI_TOLD_BITS);
	__type(key, __u32);
	__type(value, struct abi_told);
} codes_told SEC(".maps");

/* Chains that ended at a fault or were too long; code objects that could not be sent. */
__u64 runtime_broken, codes_lost;

static __always_inline __u64 runtime_read_word(__u64 address)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (const void *)address))
		return 0;
	return word;
}

static __always_inline __u64 runtime_frame_word(const struct runtime *r, __u8 at)
{
	return r->window_words[(r->frame_at + at) >> 3 & (RUNTIME_WINDOW_WORDS - 1)];
}

static __always_inline __u8 runtime_frame_byte(const struct runtime *r, __u8 at)
{
	return ((const __u8 *)r->window_words)[(r->frame_at + at) & (8 * RUNTIME_WINDOW_WORDS - 1)];
}

static __always_inline __u64 runtime_code_word(const struct runtime *r, __u8 at)
{
	return r->code_words[at >> 3];
}

static __always_inline __u32 runtime_code_half(const struct runtime *r, __u8 at)
{
	return ((const __u32 *)r->code_words)[at >> 2];
}

static __always_inline __u64 runtime_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/*
 * The characters of the str at @text, or the first ones of them. Returns how many bytes they have;
 * 0: there are none that can be read.
 */
static __always_inline __u32 runtime_read_text(const struct runtime *r, __u64 text, __u8 *to,
					       __u32 max, __u8 *ret_width)
{
	__u64 head[3], n, width; /* length, hash, state */
	__u32 begins;

	if (bpf_probe_read_user(head, sizeof(head), (const void *)(text + 16)))
		return 0;
	width = PYTHON_TEXT_WIDTH(head[2]);
	if (!(head[2] & PYTHON_TEXT_COMPACT))
		return 0;
	n = head[0] < max ? head[0] : max;
	n = n * width < max ? n * width : max;
	begins = head[2] & PYTHON_TEXT_ASCII ? r->row.text_ascii : r->row.text_compact;
	*ret_width = width;
	__asm__ volatile("" : "+r"(n));
	if (n > max || bpf_probe_read_user(to, n, (const void *)(text + begins)))
		return 0;
	return n;
}

/* The bytes object at @table, or its beginning. */
static __always_inline __u32 runtime_read_table(struct runtime *r, __u64 table)
{
	__u64 n = runtime_read_word(table + 16);

	if (n > ABI_CODE_TABLE)
		n = ABI_CODE_TABLE;
	__asm__ volatile("" : "+r"(n));
	if (n > ABI_CODE_TABLE || bpf_probe_read_user(r->code.table, n, (const void *)(table + 32)))
		return 0;
	return n;
}

/* What is needed of it alone: it is as many lines of memory that no cache has. */
static __always_inline bool runtime_read_code(struct runtime *r, __u64 code)
{
	__u64 from = r->row.code_from & RUNTIME_CODE_FROM, n = r->row.code_bytes;

	__asm__ volatile("" : "+r"(n));
	return n <= RUNTIME_CODE_BYTES &&
	       !bpf_probe_read_user((char *)r->code_words + from, n, (const void *)(code + from));
}

/* Sends the code object at @at. Returns whether it could. */
__attribute__((noinline)) int runtime_tell(struct runtime *r, __u64 at, __u64 id)
{
	__u64 flags = BPF_RB_NO_WAKEUP, n;
	struct abi_code *code;

	if (!r || r->n_told >= RUNTIME_TOLD_MAX || !runtime_read_code(r, at))
		return 0;
	r->n_told++;
	code = &r->code;
	code->id = id;
	code->pid = r->pid;
	code->uid = r->uid;
	code->version = r->row.version;
	code->first_line = runtime_code_half(r, r->row.code_line);
	code->name_bytes = runtime_read_text(r, runtime_code_word(r, r->row.code_name), code->name,
					     ABI_CODE_NAME, &code->name_width);
	code->file_bytes = runtime_read_text(r, runtime_code_word(r, r->row.code_file), code->file,
					     ABI_CODE_FILE, &code->file_width);
	if (!code->name_bytes)
		return 0;
	n = runtime_read_table(r, runtime_code_word(r, r->row.code_table));
	code->table_bytes = n;
	if (bpf_ringbuf_query(&codes, BPF_RB_AVAIL_DATA) > ABI_CODES_BYTES / 2)
		flags = BPF_RB_FORCE_WAKEUP;
	__asm__ volatile("" : "+r"(n));
	if (n > ABI_CODE_TABLE || bpf_ringbuf_output(&codes, code, ABI_CODE_HEAD + n, flags)) {
		__sync_fetch_and_add(&codes_lost, 1);
		return 0;
	}
	return 1;
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

/* What glibc has for the interpreter's key, of the thread whose control block is at @thread. */
__attribute__((noinline)) int runtime_read_slot(struct runtime *r, __u64 thread)
{
	__u64 key, block;

	if (!r)
		return 0;
	key = (__u32)runtime_read_word(r->base + r->row.state + r->row.key);
	if (!thread || key >= GLIBC_KEYS_MAX)
		return 0;
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

	r->is_checked = false;
	r->holds = ++r->n_walks;
	if (!r->row.count || interpreter - state >= r->row.state_bytes)
		return;
	/* Two interpreters may both write a number that is old. */
	if (is_static && runtime_read_word(state + r->row.interpreters) != interpreter)
		return;
	if (!is_static && !r->slot.data && !runtime_read_slot(r, thread))
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

/* Before something is kept for longer: is the interpreter's state what the row says? */
static __always_inline void runtime_check_holds(struct runtime *r)
{
	__u64 at = r->base + r->row.state + r->row.count_check_at;

	if (r->is_checked || !r->row.count_check_at || !(r->holds & RUNTIME_HOLDS_LONGER))
		return;
	r->is_checked = true;
	if (runtime_read_word(at) != r->row.count_check)
		r->holds = r->n_walks;
}

/* The code object at @code, from memory or from what is known of it. NULL: it cannot be read. */
static __always_inline const struct runtime_known *runtime_find_code(struct runtime *r, __u64 code)
{
	__u64 slot = runtime_mix(0, code) >> (64 - RUNTIME_KNOWN_BITS), id = r->seed;
	struct runtime_known *known;

	__asm__ volatile("" : "+r"(slot));
	known = &r->known[slot & ((1 << RUNTIME_KNOWN_BITS) - 1)];
	if (!code)
		return NULL;
	if (known->code == code && known->holds == r->holds && known->pid == r->pid)
		return known;
	if (!runtime_read_code(r, code))
		return NULL;
	runtime_check_holds(r);
	id = runtime_mix(id, code);
	id = runtime_mix(id, runtime_code_word(r, r->row.code_name));
	id = runtime_mix(id, runtime_code_word(r, r->row.code_file));
	id = runtime_mix(id, runtime_code_word(r, r->row.code_table));
	id = runtime_mix(id, runtime_code_half(r, r->row.code_line));
	known->code = code;
	known->holds = r->holds;
	known->pid = r->pid;
	known->id = id;
	known->traceable = r->row.code_traceable == RUNTIME_NO_CODE
				   ? 0
				   : runtime_code_half(r, r->row.code_traceable);
	return known;
}

/* Where it is noted that @id was sent; NULL: it was. */
static __always_inline struct abi_told *runtime_find_told(__u64 id)
{
	__u32 slot = id >> (64 - ABI_TOLD_BITS);
	struct abi_told *told = bpf_map_lookup_elem(&codes_told, &slot);

	if (!told)
		return NULL;
	for (int i = 0; i < ABI_TOLD_WAYS; i++)
		if (told->ids[i] == id)
			return NULL;
	return told;
}

static __always_inline void runtime_note_told(struct abi_told *told, __u64 id)
{
	for (int i = ABI_TOLD_WAYS - 1; i > 0; i--)
		told->ids[i] = told->ids[i - 1];
	told->ids[0] = id;
}

/* Sends the code object at @code, unless that was done. */
static __always_inline void runtime_tell_once(struct runtime *r, __u64 code, __u64 id)
{
	struct abi_told *told = runtime_find_told(id);

	if (told && runtime_tell(r, code, id))
		runtime_note_told(told, id);
}

/* How far the frame at frame_at is in its @code, bytes. */
static __always_inline __s64 runtime_find_instruction(const struct runtime *r, __u64 code)
{
	__u64 at = runtime_frame_word(r, r->row.frame_instruction);

	if (!r->row.instruction_unit)
		return at - (code + r->row.code_instructions);
	/* -1 has not begun yet. */
	return (__s32)at < 0 ? 0 : (__u32)at * r->row.instruction_unit;
}

/* The frame at frame_at, unless tracebacks hide it. False: there the chain is broken. */
static __always_inline bool runtime_add_frame(struct runtime *r)
{
	__u64 code = runtime_frame_word(r, r->row.frame_code) & ~7ull;
	__s64 at = runtime_find_instruction(r, code);
	const struct runtime_known *known = runtime_find_code(r, code);

	if (!known)
		return false;
	if (runtime_frame_byte(r, r->row.frame_owner) != PYTHON_OWNED_BY_GENERATOR &&
	    at < 2ll * (__s32)known->traceable)
		return true;
	runtime_tell_once(r, code, known->id);
	r->frame_open++;
	return runtime_push(r, known->id, at < 0 ? 0 : at, ABI_RUNTIME_CODE);
}

/* The frames since the last end belong together. */
static __always_inline bool runtime_end_group(struct runtime *r, __u64 anchor)
{
	bool is_counted = r->row.kind == RUNTIME_PYTHON_COUNTED;
	__u64 i = r->n_ends;

	if (!r->frame_open)
		return true;
	__asm__ volatile("" : "+r"(i));
	if (i >= ABI_GROUPS_MAX)
		return false;
	r->ends[i] = r->n;
	r->n_ends = i + 1;
	r->frame_open = 0;
	return runtime_push(r, is_counted ? r->base + r->row.state + r->row.loop : anchor,
			    is_counted ? r->row.loop_bytes : ABI_UNPLACED,
			    is_counted ? ABI_RUNTIME_COUNTED : ABI_RUNTIME_GROUP);
}

/*
 * Reads the frame at @frame into the window; frame_at says where. A thread's frames are stored one
 * after the other, callers below: what is below in the same page is read with it, which cannot fail
 * where the frame itself does not.
 */
static __always_inline bool runtime_read_frame(struct runtime *r, __u64 frame)
{
	__u64 end = frame + r->row.frame_bytes, from = frame & ~(__u64)(UNWIND_PAGE - 1), n;

	if (frame < r->window || end > r->window_end) {
		if (from + sizeof(r->window_words) < end)
			from = end - sizeof(r->window_words);
		n = end - from;
		r->window = r->window_end = 0;
		__asm__ volatile("" : "+r"(n));
		if (frame & 7 || n > sizeof(r->window_words) ||
		    bpf_probe_read_user(r->window_words, n, (const void *)from))
			return false;
		r->window = from;
		r->window_end = end;
	}
	r->frame_at = frame - r->window;
	return true;
}

/* The next frame of the chain. Returns 1 at its end, or at a fault: then r->frame is not 0. */
static long runtime_step(__u32 i, struct runtime_context *context)
{
	struct runtime *r = context->runtime;
	__u64 frame = r->frame, anchor = frame;
	bool is_full = r->n - r->n_ends >= ABI_CODES_MAX, is_end, is_shim, is_sound = true;

	(void)i;
	if (!frame || !runtime_read_frame(r, frame))
		return 1;
	is_end = runtime_frame_byte(r, r->row.frame_mark) >= r->row.end_mark;
	is_shim = is_end && r->row.kind == RUNTIME_PYTHON_SHIM;
	if (is_full && (!is_shim || runtime_frame_word(r, r->row.frame_previous)))
		r->is_cut = true;
	if (!is_full && !is_shim)
		is_sound = runtime_add_frame(r);
	if (is_end && r->row.kind == RUNTIME_PYTHON_CFRAME) {
		anchor = r->cframe;
		r->cframe = runtime_read_word(anchor + r->row.cframe_previous);
	}
	if (is_end && is_sound)
		is_sound = runtime_end_group(r, anchor) && !is_full;
	if (!is_sound)
		return 1;
	r->frame = runtime_frame_word(r, r->row.frame_previous);
	return 0;
}

/*
 * The thread state that the interpreter itself takes for this thread's, or 0: while the thread does
 * not hold the GIL there is none, or it is another's.
 */
static __always_inline __u64 runtime_find_current(const struct runtime *r, __u64 state,
						  __u64 thread)
{
	__u64 index[2], at = state, vector;

	if (!r->row.current && !r->row.tls_at && !r->row.tls_index)
		return 0;
	if (r->row.current) {
		at += r->row.current;
	} else if (!r->row.tls_index) {
		at = thread + r->row.tls_at;
	} else {
		vector = runtime_read_word(thread + THREAD_VECTOR);
		if (bpf_probe_read_user(index, sizeof(index), (void *)(at + r->row.tls_index)))
			return 0;
		at = runtime_read_word(vector + THREAD_VECTOR_ENTRY * index[0]) + index[1] +
		     r->row.tls_at;
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
	r->window = r->window_end = 0;
	r->frame = r->thread_words[r->row.thread_at >> 3];
	r->cframe = r->frame;
	if (r->row.cframe_frame != RUNTIME_NO_CFRAME)
		r->frame = runtime_read_word(r->cframe + r->row.cframe_frame);
	else if (r->row.thread_frame)
		r->frame = r->thread_words[r->row.thread_frame >> 3];
	bpf_loop(RUNTIME_STEPS_MAX, runtime_step, &context, 0);
	if (r->frame)
		__sync_fetch_and_add(&runtime_broken, 1);
	if (r->frame_open)
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
 * @root: its address space, NULL unknown.
 */
static __always_inline void runtime_begin(struct runtime *r, struct task_struct *task,
					  const struct abi_sample *of, __u64 start_code,
					  __u64 thread, const struct unwind_root *root)
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
	r->frame_open = 0;
	r->n_chunks = 0;
	r->n_strange = 0;
	r->n_pieces = 0;
	r->n_functions = 0;
	r->no_positions = 0;
	r->is_v8 = r->row.kind == RUNTIME_V8;
	r->cframe = 0;
	if (r->is_v8)
		return;
	runtime_walk(r, thread);
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
