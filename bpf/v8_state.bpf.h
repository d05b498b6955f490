/* SPDX-License-Identifier: MIT */
#ifndef PROFD_BPF_V8_STATE_BPF_H
#define PROFD_BPF_V8_STATE_BPF_H

/* What walks of V8's frames (v8.bpf.h) keep in struct runtime: on a stack it would be too much. */
#include "bpf/abi.h"

/* A string that is read. */
#define V8_TEXT_MAX ABI_CODE_FILE
#define V8_REST_MAX 4 /* pieces that wait: a power of two */
struct v8_text {
	__u64 string;
	__u64 rest[V8_REST_MAX];
	__u32 n_rest;
	__u32 skip, left; /* characters, of a sliced one */
	__u32 n, max;     /* bytes that were read, that there is room for */
	__u32 at;         /* of a source: the character that is looked at */
	__u32 width;      /* bytes of a character */
	__u8 bytes[2 * V8_TEXT_MAX];
};

/* V8's, what is right below a frame pointer. */
struct v8_frame {
	__u64 offset, bytecodes; /* of one that is interpreted; else anything */
	__u64 n_arguments;
	__u64 function, context;
};

/* Of a SharedFunctionInfo, from V8_SHARED_SCRIPT on. */
struct v8_identity {
	__u64 script;
	__u64 counts;  /* of parameters and so on, of 16 bits; the upper ones are flags */
	__u64 literal; /* the upper half: its number in the script; -1: a builtin's */
};

/* Of a Script, from V8_SCRIPT_NAME on. */
struct v8_script {
	__u64 name;
	__u64 others[5];
	__u64 id;
};

/* What was read for a frame last. */
struct v8_seen {
	struct v8_frame frame;
	struct v8_identity function;
	struct v8_script script;
};

/* The lines of a long script, as far as they were counted: at each step of its characters. */
#define V8_MARK_STEP 32768
#define V8_MARKS     256 /* a power of two, as is the next */
#define V8_SCRIPTS   4
#define V8_SCRIPT_NS 2000000000ull /* after that, another one may have its place */
struct v8_marks {
	__u64 script, used_ns;
	__u32 n, lines[V8_MARKS];
};

struct v8_function {
	__u64 name, inferred;
	__u32 position, end; /* of its source, in the script's */
	__u64 script;        /* the script's hash */
	bool is_late;        /* something of it is for another tick */
};

#endif
