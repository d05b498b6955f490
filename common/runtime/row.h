/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_RUNTIME_ROW_H
#define PROFD_COMMON_RUNTIME_ROW_H

/*
 * A runtime: what a walk must know of one build of an interpreter in order to find the
 * interpreter's own frames in a process that runs it. The image worker makes it from the
 * interpreter's file alone; the BPF programs find it by that file when a process ticks
 * (bpf/runtime.bpf.h).
 *
 * Offsets are bytes from the beginning of the struct that they are named after. What they lead to
 * is the process's own memory, which may say anything.
 *
 * Shared by the BPF programs, profd and the image worker: no includes but one, no functions.
 */
#include "common/unwind/rule.h"

typedef __UINT16_TYPE__ runtime_u16;
typedef __INT32_TYPE__ runtime_s32;

enum runtime_kind {
	RUNTIME_NONE,
	/* CPython before 3.10: an entry of the loop has one frame, and leaves nothing else. */
	RUNTIME_PYTHON_COUNTED,
	/* Up to 3.11: each has a struct _PyCFrame on the C stack. */
	RUNTIME_PYTHON_CFRAME,
	/* Since then, a frame without code is on the C stack below those of each entry. */
	RUNTIME_PYTHON_SHIM,
	RUNTIME_V8,      /* Node's JavaScript: bpf/v8.bpf.h; the row has its .v8 alone */
	RUNTIME_LIBRARY, /* a program that loads an interpreter: `state` is its DT_DEBUG's value */
	N_RUNTIME_KINDS,
};

/* So much is read of a thread state; all its offsets are below, in words of 8 bytes. */
#define RUNTIME_THREAD_WORDS 24

/* A number that is another one if a code object may be where another one was. */
enum runtime_count {
	/* That the next code object of an interpreter gets, 32 bits; 0: there are no more. */
	RUNTIME_COUNT_NEXT,
	/* The same for all interpreters of a process, which keep no order in its increments. */
	RUNTIME_COUNT_STATIC,
	/* Of those of an interpreter that are gone, 64 bits. */
	RUNTIME_COUNT_ENDED,
};

/* The C library has what pthread_getspecific(3) returns, and the vector of thread-local memory. */
enum runtime_libc {
	RUNTIME_GLIBC,
	RUNTIME_MUSL, /* 1.2 */
};

/* Where an object of Python's has its attributes: a dict at 16, else at -24, if not the values. */
enum runtime_attributes {
	RUNTIME_ATTRIBUTES_UNKNOWN,
	RUNTIME_ATTRIBUTES_DICT,
	RUNTIME_ATTRIBUTES_BEFORE, /* values at -32 */
	RUNTIME_ATTRIBUTES_TAGGED, /* values at -24, by a tag of their address */
	RUNTIME_ATTRIBUTES_INLINE, /* values in the object */
};

/* Where the majors of V8 differ. Offsets, bytes, are from the beginning of an object. */
struct runtime_v8 {
	runtime_u16 shared, script, scope; /* Map::instance_type of SharedFunctionInfo and so on */
	runtime_u16 function_shared;       /* JSFunction: its SharedFunctionInfo */
	runtime_u16 positions;             /* BytecodeArray: of its bytecodes, in the source */
	runtime_u16 bytecodes;             /* what the first one's offset is in a frame */
};

/*
 * The table of lines of one of V8's functions begins like this. Then come V8's own table of source
 * positions, and a map of the source from the function on: a bit a character, the lowest first,
 * which says whether that ends a line.
 */
struct runtime_v8_lines {
	unwind_u32 start;        /* which character of the script the map begins with */
	runtime_u16 n_positions; /* bytes of V8's table */
	unwind_u8 is_cut;        /* there were more of them */
	unwind_u8 width;         /* bytes a character: 8 / width of them are in a byte of the map */
};

/* A version of V8, told from one of CPython: major and minor in the low bytes. */
#define RUNTIME_V8_VERSION     0x80000000u
#define RUNTIME_IS_V8(version) ((version) >> 31)
/* Bytes of a table of lines that are kept; a longer one is cut off there. */
#define RUNTIME_TABLE_MAX 16384
/* Instead of how far in its code a frame is: not known, or it has not begun. */
#define RUNTIME_AT_UNKNOWN 0xffffffu

struct runtime_row {
	/* From mm->start_code, in a library from where it is loaded: address of _PyRuntime. */
	unwind_s64 state;
	unwind_s64 check; /* the same in a library: what has check_value in memory, too */
	unwind_u32 check_value;
	unwind_u32 version; /* 0x030b for 3.11 */
	/* From the state: COUNTED: the loop's code; where the module and the offset of thread-local
	 * memory are that has the thread state at tls_at. 0: there is none, or it is at tls_at. */
	runtime_s32 loop, tls_index;
	unwind_u32 loop_bytes;
	runtime_s32 tls_at; /* both 0: unknown */
	/*
	 * Where the number is: from the state with COUNT_STATIC, else from the interpreter's
	 * state; 0: there is none. If count_check_at is not 0, it holds where count_check is there
	 * (_Py_DebugOffsets, from the state).
	 */
	runtime_s32 count;
	unwind_u32 count_check;
	unwind_u32 state_bytes; /* of all of the state; the main interpreter's is in it */
	runtime_u16 count_check_at;
	runtime_u16 interpreters; /* state, COUNT_STATIC: the interpreter that was made last */
	runtime_u16 kind;         /* enum runtime_kind */
	runtime_u16 key;          /* state: the pthread key of the thread state */
	runtime_u16 current;      /* state: the thread state that runs; 0: see tls_at */
	unwind_u8 thread_at;    /* thread state: the _PyCFrame, or where there is none the frame */
	unwind_u8 thread_frame; /* of one whose _PyCFrame does not have it: the frame; 0 */
	unwind_u8 thread_id;    /* thread state: pthread_self() */
	unwind_u8 thread_interpreter;
	unwind_u8 count_kind;      /* enum runtime_count */
	unwind_u8 cframe_frame;    /* _PyCFrame: the newest frame; RUNTIME_NO_CFRAME */
	unwind_u8 cframe_previous; /* with CFRAME: the caller's; next to that */
	unwind_u8 frame_bytes;     /* that all frames have, a multiple of 8 */
	unwind_u8 frame_code, frame_previous, frame_instruction;
	unwind_u8 instruction_unit; /* bytes, of a number of 32 bits; 0: it is an address */
	unwind_u8 frame_mark;       /* from end_mark on: an entry's last; with SHIM, without code */
	unwind_u8 end_mark;
	unwind_u8 frame_owner; /* whose a frame is */
	/* 3.10: how deep its stack is, negative in the loop; its generator; 0 while it runs. */
	unwind_u8 frame_depth, frame_generator, frame_state;
	/* Code object: what is read of it, and in that: */
	unwind_u8 code_from, code_bytes;
	unwind_u8 code_line, code_file, code_name, code_table;
	unwind_u8 code_version;   /* no two have the same number, but 0; 0: they have none */
	unwind_u8 code_traceable; /* beyond: the first instruction that tracebacks show; 0: all */
	unwind_u8 code_instructions;
	/* str: */
	unwind_u8 text_ascii, text_compact; /* where characters begin */
	unwind_u8 libc;                     /* enum runtime_libc */
	/* For names of threads: */
	unwind_u8 attributes;     /* enum runtime_attributes */
	runtime_u16 frame_locals; /* frame: its local variables */
	runtime_u16 type_keys;    /* type: what its objects' attributes are called */
	struct runtime_v8 v8;
};

#define RUNTIME_NO_CFRAME 0xff

_Static_assert(sizeof(struct runtime_row) == 112, "struct runtime_row");

#endif
