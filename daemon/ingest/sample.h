/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SAMPLE_H
#define PROFD_INGEST_SAMPLE_H

/*
 * What every source hands out: one sample, and one event in the life of a process. Both are
 * borrowed for the length of the call that delivers them.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/frame.h"
#include "common/reasons.h"
#include "common/unwind/registers.h"
#include "common/unwind/walk.h"
#include "common/waits.h"

#define SAMPLE_COMM_SIZE          16
#define SAMPLE_FRAMES_MAX         1536 /* 1024 user, 127 kernel, 256 of an interpreter and some room */
#define SAMPLE_RUNTIME_FRAMES_MAX 256
#define SAMPLE_GROUPS_MAX         256
#define SAMPLERS_MAX              16

/*
 * What is needed to finish the walk of a user stack that its source could not finish: the registers
 * of the frame at which it gave up (its frames so far are in the sample), and a copy of the stack
 * from there on.
 */
struct sample_rest {
	struct unwind_registers registers;
	bool pushed;          /* the frame of these registers is in the sample already */
	bool is_witness;      /* the walk is complete: only for comparison, from the leaf on */
	uint64_t start_stack; /* mm->start_stack: where the program's arguments begin; 0 unknown */
	uint64_t start_code, end_code; /* the mm's: code of the program itself; both 0 unknown */
	uint64_t stack_address;
	size_t stack_length; /* bytes; 0: no copy could be taken */
	const uint8_t *stack;
};

/*
 * Frames of an interpreter, of a thread that runs one; leaf first, in groups: what one entry of its
 * loop runs. Their place is among the native user frames: before the one that the anchor is in.
 */
struct sample_runtime {
	uint32_t n_groups, n_frames;
	bool is_cut; /* there are more of them */
	struct walk_anchor anchors[SAMPLE_GROUPS_MAX];
	uint16_t lengths[SAMPLE_GROUPS_MAX];        /* frames of each group */
	uint64_t frames[SAMPLE_RUNTIME_FRAMES_MAX]; /* FRAME_RUNTIME, without _LOOP */
};

struct sample {
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint64_t weight;    /* events or, for clocks, nanoseconds that this sample stands for */
	uint64_t start_ns;  /* start of the process, CLOCK_BOOTTIME; 0: the source does not know */
	uint64_t cgroup_id; /* cgroup v2 id; 0: the source does not know */
	pid_t pid, tid;     /* in the init pid namespace; pid is the thread group */
	uint32_t cpu;
	uint16_t sampler; /* index of the sampler that took it */
	uint16_t quality; /* enum stack_quality */
	uint16_t reason;  /* of quality's list */
	int16_t call;     /* of a wait: the number of its system call, or WAIT_NO_CALL */
	uint8_t wait; /* enum wait_state: what the weight is of; WAIT_NONE: CPU time, or events */
	/*
	 * Of a wait: the number of its waker, 0: unknown. Wakers come before the waits, with the
	 * same number and is_waker, and are no samples: a thread, where it was when it woke another
	 * one; or with by_interrupt no thread, but what the interrupt ran.
	 */
	uint64_t waker;
	bool is_waker, by_interrupt;
	bool kernel_thread;
	bool owner_known; /* whether the source knows the next two: see proc_read_owner() */
	bool only_uid;
	uid_t uid;
	char comm[SAMPLE_COMM_SIZE]; /* of the thread, NUL-terminated; "" unknown */
	uint32_t n_kernel;           /* the first n_kernel frames are the kernel's */
	uint32_t n_frames;
	const uint64_t *frames;   /* leaf first, see common/frame.h */
	uint64_t walked_until_ns; /* the unwind_root.until_ns that the walk went by; 0: by none */
	/* NULL: finished. Else quality and reason say why it is not. */
	const struct sample_rest *rest;
	const struct sample_runtime *runtime; /* NULL: none, or they are among the frames */
};

enum process_event_kind {
	PROCESS_EVENT_FORK,  /* pid was born of parent; also for each thread (pid == parent) */
	PROCESS_EVENT_EXEC,  /* a new program begins: the old address space is gone */
	PROCESS_EVENT_COMM,  /* the thread tid has another name */
	PROCESS_EVENT_MMAP,  /* an executable mapping appeared */
	PROCESS_EVENT_EXIT,  /* the thread tid ended; see source_tells_lives() */
	PROCESS_EVENT_LOST,  /* `lost` records before this one are gone: rescan */
	PROCESS_EVENT_MOVED, /* pid came into another control group */
	PROCESS_EVENT_BEGUN, /* the program that EXEC announced has its owner */
	N_PROCESS_EVENTS,
};

struct process_event {
	enum process_event_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t pid, tid;
	pid_t parent;                /* FORK */
	pid_t parent_tid;            /* FORK: the thread that called; 0 unknown */
	char comm[SAMPLE_COMM_SIZE]; /* EXEC, COMM */
	uint64_t lost;               /* LOST */
	uint64_t cgroup_id;          /* MOVED: as in struct sample */
	bool owner_known, only_uid;  /* BEGUN: the same, as is */
	uid_t uid;
	struct {
		uint64_t start, length, offset; /* bytes */
		uint32_t device_major, device_minor;
		uint64_t inode, inode_generation;
		uint32_t prot, flags; /* mmap(2) */
		const char *path;     /* "[vdso]", "//anon" and the like for what is no file */
	} map;                        /* MMAP */
};

/* Of the first thread of @pid. */
static inline struct process_event process_event_of(enum process_event_kind kind, pid_t pid,
						    uint64_t time_ns)
{
	return (struct process_event){.kind = kind, .time_ns = time_ns, .pid = pid, .tid = pid};
}

#endif
