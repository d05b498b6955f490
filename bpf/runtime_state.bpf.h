/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_RUNTIME_STATE_BPF_H
#define PROFD_BPF_RUNTIME_STATE_BPF_H

/* What walks of interpreters' frames have in memory of their own, on each CPU: struct runtime. */
#include "bpf/abi.h"

#include "bpf/kernel_types.h"
#include "bpf/v8_state.bpf.h"

/* Of a struct link_map (<link.h>). */
struct runtime_library {
	__u64 address, name, dynamic, next;
};

/* What was read of a thread's frames last: each read costs as much as a good many bytes. */
#define RUNTIME_WINDOW_WORDS 128

/* What is read of a code object. Of another one, not all of it is the same. */
struct runtime_content {
	__u64 name, file, table;
	__u32 line, version;
};

/*
 * The code object at `code` of a process, which profd was told of. It is so without a look at it in
 * walks that have the same `holds`, else if its content is the same.
 */
struct runtime_known {
	__u64 code, seed, holds, id;
	struct runtime_content content;
	__u64 text;      /* of its name: runtime_read_name() */
	__u32 traceable; /* the first instruction that tracebacks show */
	__u32 n_names;   /* times that `text` was compared */
};

#define RUNTIME_KNOWN_BITS 8

/* What is read of a code object begins at a multiple of 8, and is no longer. */
#define RUNTIME_CODE_FROM  0x78
#define RUNTIME_CODE_BYTES 88
#define RUNTIME_CODE_WORDS 32 /* that an offset of one byte leads to */

/* glibc's struct pthread_key_data. The sequence is the key's: another one each time it is made. */
struct runtime_slot {
	__u64 sequence, data;
};

/* Of a str object up to 3.11, from its hash on; of characters, the first ones. */
struct runtime_name {
	__u64 hash, state, wide, characters;
};

/* Of a struct _PyCFrame that has both. */
struct runtime_cframe {
	__u64 frame, previous;
};

struct runtime {
	struct runtime_row row;
	__u64 base;       /* where it is loaded: its row's addresses count from there */
	__u64 seed;       /* of ids */
	__u64 known_seed; /* of what is known: another one when profd has forgotten ids */
	struct runtime_library library;
	struct runtime_row found_row; /* of the library that was found last, */
	__u64 found_base, found_seed; /* where it is, and whose */
	__u64 frame, cframe; /* V8: the frame pointer to look at next, the one looked at last */
	struct runtime_cframe of_cframe;
	/* Where window_words are from, and the last place in them where a frame fits; 0: none. */
	__u64 window, window_last;
	__u64 holds, n_walks; /* n_walks: of this CPU */
	__u32 pid, uid;
	__u32 n, n_ends, next; /* entries; ends among them; those that are placed */
	__u32 n_told;
	__u32 n_begun;   /* entries as far as to the last end: what follows is a group's */
	bool is_cut;     /* there are frames that were skipped */
	bool is_checked; /* that the row's offsets in the interpreter's state are right */
	__u16 ends[ABI_GROUPS_MAX];
	__u64 window_words[RUNTIME_WINDOW_WORDS];
	__u64 thread_words[RUNTIME_THREAD_WORDS + 8]; /* a power of two, as below */
	__u64 code_words[RUNTIME_CODE_WORDS];
	struct runtime_slot slot;
	struct runtime_name name;
	__u64 thread_state; /* of which thread_words are */
	/* The frame that was looked at last, and its code's name; the name of the thread. */
	__u64 outer_frame, outer_name, thread_name[2];
	/* Whose these are, which stay where they are: two texts that lead to that name. */
	__u64 thread_seed, bootstrap, name_key;
	struct abi_runtime_entry entries[ABI_RUNTIME_MAX];
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
	/* The last two, as what is beyond the 15 bits of an offset costs stack in all functions. */
	struct abi_code code;
	struct runtime_known known[1 << RUNTIME_KNOWN_BITS];
};

static __always_inline __u64 runtime_read_word(__u64 address)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (const void *)address))
		return 0;
	return word;
}

static __always_inline __u64 runtime_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

#endif
