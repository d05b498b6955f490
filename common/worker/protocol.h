/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_PROTOCOL_H
#define PROFD_COMMON_WORKER_PROTOCOL_H

/*
 * What profd (or profctl) and profd-image-worker say to each other, over a SOCK_SEQPACKET pair that
 * the worker has as WORKER_SOCKET_FD. One request at a time, and one answer to it:
 *
 *   request  struct worker_request_header, then its payload; file descriptors by SCM_RIGHTS, in
 *            the order of enum worker_file
 *   answer   struct worker_answer_header; its payload, if it has one, is at the beginning of
 *            WORKER_ANSWER_FD, a memfd that its client made and reads before it believes it
 *
 * Before the first request the worker says by an answer with id 0 that it is in its sandbox: what
 * kills it later is what it reads. WORKER_LEASH_FD is a stream socket: when a byte comes, or the
 * other end is closed, the kernel kills the worker, in the worker's own name. It may run as a user
 * whom its parent may not signal.
 *
 * The worker reads strangers' files and may have become theirs: nothing that it answers is believed
 * before answer.h has looked at all of it. What it is asked is trusted. Both are built from one
 * tree and installed together, so there is no version but the check that they are.
 */
#include <stdint.h>

#include "common/runtime/row.h"
#include "common/symbols/elf_summary.h"
#include "common/unwind/cfi.h"
#include "common/unwind/layout.h"

#define WORKER_SOCKET_FD   3
#define WORKER_LEASH_FD    4
#define WORKER_ANSWER_FD   5
#define WORKER_REQUEST_MAX 65536u      /* bytes, with the header */
#define WORKER_ANSWER_MAX  (64u << 20) /* bytes of a payload */
#define WORKER_TEXT_MAX    65535u      /* bytes of one name or path, without its NUL */
#define WORKER_FILE_NAME   256u        /* bytes of a file's name, with its NUL */
#define WORKER_FRAMES_MAX  64u         /* of one address: the function and what is inlined in it */
#define WORKER_ADDRESSES_MAX \
	((WORKER_REQUEST_MAX - sizeof(struct worker_request_header)) / sizeof(uint64_t))

enum worker_kind {
	WORKER_INSPECT, /* IMAGE: what kind of file it is; answers struct worker_image */
	WORKER_TABLE,   /* IMAGE: its unwind table; answers struct worker_table and words */
	/*
	 * IMAGE, and DEBUG and ALTERNATE where there are such: names of link-time virtual
	 * addresses; payload: the addresses, uint64_t, ascending; answers struct worker_names ...
	 * What no symbol covers belongs to the function that .eh_frame has there, whose name is
	 * made of the header's file_name and its start: "gzip+0x4290".
	 */
	WORKER_SYMBOLS,
	/* PERF_MAP or JITDUMP: the same for addresses of a process. */
	WORKER_JIT,
	/* Payload: raw names, each with its NUL, one behind the other; the same order comes back.
	 */
	WORKER_DEMANGLE,
	/*
	 * IMAGE, and DEBUG and ALTERNATE where there are such: the machine instructions of a range
	 * of link-time addresses; payload: struct worker_range; answers struct worker_code ...
	 */
	WORKER_INSTRUCTIONS,
	/*
	 * What interpreters' functions are called, and lines of theirs; payload: code objects as
	 * the BPF programs read them, struct worker_code_object ..., one behind the other; answers
	 * struct worker_functions ...
	 */
	WORKER_FUNCTIONS,
	/*
	 * CONTAINERS: what its container manager calls a container; payload: its id,
	 * WORKER_CONTAINER_ID lower-case hex digits; answers struct worker_container.
	 * WORKER_NOT_ELF: the file has nothing of it.
	 */
	WORKER_CONTAINER,
	/*
	 * PACKAGES: versions of packages; payload: names as dpkg's lists of files have them
	 * ("bash", "libc6:amd64"), each with its NUL, one behind the other, WORKER_PACKAGES_MAX at
	 * most; the versions come back in the same order, each with its NUL, "": not installed.
	 */
	WORKER_PACKAGE,
	N_WORKER_KINDS,
};

/* Files of a request: read-only, regular. */
enum worker_file {
	WORKER_FILE_IMAGE,      /* the ELF file that is mapped */
	WORKER_FILE_DEBUG,      /* its separate debug file */
	WORKER_FILE_ALTERNATE,  /* what dwz took out of either */
	WORKER_FILE_PERF_MAP,   /* /tmp/perf-PID.map */
	WORKER_FILE_JITDUMP,    /* jit-PID.dump */
	WORKER_FILE_CONTAINERS, /* a container manager's, of one container or all */
	WORKER_FILE_PACKAGES,   /* dpkg's status */
	N_WORKER_FILES,
};

/* Flags of a request. SYMBOLS: source lines and inlined functions, too; INSTRUCTIONS: lines. */
#define WORKER_WANT_LINES 1u
/* Both: DEBUG was found by debuglink, and counts only if its CRC is that of the image's link. */
#define WORKER_CHECK_CRC 2u
/* INSTRUCTIONS of x86: Intel's syntax, not AT&T's. */
#define WORKER_INTEL 4u
/* DEMANGLE: as daemon/worker/names/demangle.h has them. */
#define WORKER_NO_CLONES     8u
#define WORKER_NO_PARAMETERS 16u

/* Bytes of an answer to a request that may use @memory_bytes. */
static inline uint64_t worker_answer_max(uint64_t memory_bytes)
{
	return memory_bytes / 6 < WORKER_ANSWER_MAX ? memory_bytes / 6 : WORKER_ANSWER_MAX;
}

struct worker_request_header {
	uint32_t magic; /* WORKER_MAGIC */
	uint32_t kind;  /* enum worker_kind */
	uint64_t id;    /* comes back with the answer */
	uint32_t flags;
	uint32_t files; /* bit 1 << enum worker_file for each that is attached */
	/*
	 * The same key: the same files with the same contents, so what was read of them may be kept
	 * for the next request. 0: keep nothing. JIT has none: its files grow.
	 */
	uint64_t key;
	uint64_t max_words;               /* TABLE: larger ones are refused */
	uint64_t memory_bytes;            /* what the worker may use */
	uint64_t payload_length;          /* bytes */
	char file_name[WORKER_FILE_NAME]; /* SYMBOLS: of IMAGE, ends with a NUL; "" unknown */
};

/* Differs between builds that do not understand each other; change it with any struct here. */
#define WORKER_MAGIC 0x7064773du

enum worker_outcome {
	WORKER_DONE,
	WORKER_NOT_ELF,     /* no ELF file, no perf map, not of that container ... */
	WORKER_MALFORMED,   /* one, but damaged */
	WORKER_UNREADABLE,  /* reading failed */
	WORKER_NO_MEMORY,   /* within what the worker may have */
	WORKER_BAD_REQUEST, /* not what this file describes */
	N_WORKER_OUTCOMES,
};

struct worker_answer_header {
	uint32_t magic;
	uint32_t outcome; /* enum worker_outcome */
	uint64_t id;
	uint64_t payload_length; /* 0: none. Only with WORKER_DONE */
	uint32_t is_last;        /* it has used up its time and ends now: start another */
	uint32_t reserved;
};

/* What a worker exits with before it has said that it is in its sandbox. */
enum {
	WORKER_EXIT_USAGE = 2, /* not started as worker.h does */
	WORKER_EXIT_SANDBOX,   /* it cannot enter it */
};

/* WORKER_INSPECT's payload: one of these. Texts end with a NUL within their array. */
#define WORKER_LINK_MAX 256
#define WORKER_ID_MAX   32

struct worker_image {
	struct elf_summary elf;
	struct go_build go;
	struct elf_release release;
	uint8_t has_symtab, has_debugdata, has_lines;
	uint32_t debuglink_crc;
	char debuglink[WORKER_LINK_MAX]; /* a file name; "" none (elfutils: .gnu_debuglink) */
	char alternate[WORKER_LINK_MAX]; /* a path, .gnu_debugaltlink; "" none */
	uint32_t alternate_id_length;
	uint8_t alternate_id[WORKER_ID_MAX];
};

/* Why an interpreter is not walked: its structs are others. */
enum worker_runtime_refusal {
	WORKER_RUNTIME_TAKEN,
	WORKER_RUNTIME_DEBUG,
	WORKER_RUNTIME_FREE_THREADED,
};

/*
 * An interpreter, as far as its file alone tells (common/runtime), or a program that loads one as a
 * library. Link-time addresses; all zero: it is neither; refusal alone: one that cannot be walked.
 */
struct worker_runtime {
	uint64_t text;    /* the first byte of code */
	uint64_t state;   /* what its walk begins with */
	uint64_t check;   /* what has check_value in memory, too */
	uint64_t dynamic; /* its dynamic section; 0: it has none */
	uint64_t debug;   /* of a program that loads it: the value of DT_DEBUG; 0: it does not */
	uint64_t loop;    /* its code: the first byte of so many; 0: unknown */
	/*
	 * Where the number of the module and an offset are (__tls_get_addr's argument) that with
	 * tls_at lead to its state of a thread; 0: that is at tls_at from the thread's own.
	 */
	uint64_t tls_index;
	uint64_t count; /* the number that its next code object gets, if it is static; 0 */
	uint32_t loop_bytes;
	int32_t tls_at;   /* both 0: unknown */
	uint32_t version; /* 0x030b: CPython 3.11, RUNTIME_V8_VERSION | ..: V8; 0: it is none */
	uint32_t refusal; /* enum worker_runtime_refusal; then it has no version */
	uint32_t check_value;
	uint32_t state_bytes;
	uint32_t libc;        /* enum runtime_libc */
	struct runtime_v8 v8; /* of V8, which has nothing more but text */
};

/* WORKER_TABLE's payload: this, then n_words words (layout.h), if it is LOADED. */
struct worker_table {
	uint32_t state; /* enum table_state: LOADED, NO_CFI or REFUSED */
	uint32_t over_4g;
	struct table_slot slot; /* state and first 0 */
	struct cfi_counters counters;
	struct elf_summary
		elf; /* as INSPECT's; pointer_bytes 0: there is none (the vdso has one) */
	struct go_build go;
	struct elf_release release;
	struct worker_runtime runtime;
	uint64_t n_words;
};

/* Where a name came from. */
enum worker_source {
	WORKER_SOURCE_NONE,
	WORKER_SOURCE_SYMTAB,
	WORKER_SOURCE_DEBUGDATA, /* .gnu_debugdata */
	WORKER_SOURCE_DEBUG,     /* the separate file's .symtab */
	WORKER_SOURCE_PCLNTAB,   /* what a Go program knows of itself */
	WORKER_SOURCE_DYNSYM,
	WORKER_SOURCE_PLT,
	WORKER_SOURCE_FRAME, /* .eh_frame: no name but one that is made of where it starts */
	WORKER_SOURCE_DWARF, /* functions and lines */
	WORKER_SOURCE_PERF_MAP,
	WORKER_SOURCE_JITDUMP,
	N_WORKER_SOURCES,
};

/*
 * The payload of WORKER_SYMBOLS and WORKER_JIT: this, n_locations struct worker_location (one for
 * each address asked for, in that order), n_frames struct worker_frame, text_length bytes of text
 * that end with a NUL. Texts are offsets there; 0 is the empty text. Names are UTF-8.
 */
struct worker_names {
	uint32_t n_locations, n_frames;
	uint32_t text_length;
	uint32_t reserved;
};

struct worker_location {
	/*
	 * All addresses from start to before start + size have this answer, but for the lines.
	 * Never 0 long; without a name, it is 1 unless the image has no names at all there.
	 */
	uint64_t start, size;
	uint32_t first_frame, n_frames; /* innermost first; 0: no name */
	uint32_t source;                /* enum worker_source */
	uint32_t reserved;
};

struct worker_frame {
	uint32_t name;        /* demangled */
	uint32_t system_name; /* as in the file */
	uint32_t file;        /* path; 0 unknown */
	uint32_t line;        /* 0 unknown */
	uint32_t start_line;  /* of the function; 0 unknown */
};

/* WORKER_INSTRUCTIONS' payload: from start to before end, at most WORKER_CODE_MAX bytes, not none.
 */
#define WORKER_CODE_MAX          (128u << 10)
#define WORKER_INSTRUCTION_BYTES 16u /* no instruction is longer */

struct worker_range {
	uint64_t start, end;
};

/*
 * The payload of WORKER_INSTRUCTIONS: this, n_instructions struct worker_instruction, text_length
 * bytes of text that end with a NUL; texts as above. Without instructions where the file has no
 * bytes for the range's start, or where its machine is not known.
 */
struct worker_code {
	uint32_t n_instructions, text_length;
};

/*
 * One that begins within the range, in ascending order, none overlapping. What is no instruction is
 * "(bad)", and as long as the machine's instructions are aligned.
 */
struct worker_instruction {
	uint64_t address;
	uint32_t size; /* bytes, 1 to WORKER_INSTRUCTION_BYTES */
	/*
	 * Mnemonic and operands; behind a direct jump or call "<function+0x12>", where the target
	 * has a name; behind an operand relative to the instruction "# 0x1234", what it refers to.
	 */
	uint32_t text;
	uint32_t file, line; /* of the innermost function there; 0 unknown */
};

/*
 * One in WORKER_FUNCTIONS' payload: this, n_offsets offsets of instructions (uint32_t, bytes from
 * the first one), the bytes of name, file and table, and zeros up to a multiple of 4
 * (code_object.h).
 */
struct worker_code_object {
	uint32_t version; /* as in struct runtime_row */
	uint32_t first_line;
	uint32_t n_offsets;
	uint32_t table_bytes;
	uint16_t name_bytes, file_bytes;
	uint8_t name_width, file_width; /* bytes of a character */
	uint16_t reserved;
};

/*
 * The payload of WORKER_FUNCTIONS: this, n_functions struct worker_function (one for each code
 * object, in that order), n_lines lines (uint32_t, at most INT32_MAX, 0 unknown; one for each
 * offset, in that order), text_length bytes of text that end with a NUL; texts as above.
 */
#define WORKER_FUNCTION_TEXT_MAX 1023u /* bytes of a text there, without its NUL */

struct worker_functions {
	uint32_t n_functions, n_lines, text_length;
};

struct worker_function {
	uint32_t name, file; /* file: 0 unknown */
};

#define WORKER_PACKAGES_MAX    256u
#define WORKER_PACKAGE_VERSION 64u /* bytes of one, with its NUL */

/* The payload of WORKER_CONTAINER. Texts end with a NUL within their array; "" none. */
#define WORKER_CONTAINER_ID    64u
#define WORKER_CONTAINER_NAME  256u
#define WORKER_CONTAINER_IMAGE 512u

struct worker_container {
	char name[WORKER_CONTAINER_NAME];
	char image[WORKER_CONTAINER_IMAGE];
};

_Static_assert(sizeof(struct worker_request_header) == 56 + WORKER_FILE_NAME,
	       "struct worker_request_header");
_Static_assert(sizeof(struct worker_answer_header) == 32, "struct worker_answer_header");
_Static_assert(sizeof(struct worker_runtime) == 104, "struct worker_runtime");
_Static_assert(sizeof(struct worker_names) == 16, "struct worker_names");
_Static_assert(sizeof(struct worker_location) == 32, "struct worker_location");
_Static_assert(sizeof(struct worker_frame) == 20, "struct worker_frame");
_Static_assert(sizeof(struct worker_range) == 16, "struct worker_range");
_Static_assert(sizeof(struct worker_code) == 8, "struct worker_code");
_Static_assert(sizeof(struct worker_instruction) == 24, "struct worker_instruction");
_Static_assert(sizeof(struct worker_code_object) == 24, "struct worker_code_object");
_Static_assert(sizeof(struct worker_functions) == 12, "struct worker_functions");
_Static_assert(sizeof(struct worker_function) == 8, "struct worker_function");

#endif
