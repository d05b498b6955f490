/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_ABI_H
#define PROFD_BPF_ABI_H

/*
 * What the BPF programs and profd say to each other: the sample record in the ring buffers, the
 * settings of a sampler, the counters, the members of the filter, the roots of address spaces. (The
 * memory that walks read is common/unwind/layout.h's.) Both sides are built from one tree and one
 * object embeds the other, so there are no versions; sizes are asserted.
 */
#include "common/reasons.h"
#include "common/runtime/row.h"
#include "common/unwind/layout.h"
#include "common/unwind/registers.h"
#include "common/waits.h"

#if defined(__bpf__)
#include "bpf/kernel_types.h"
#else
#include <linux/types.h>
#endif

#define ABI_SAMPLERS_MAX      16   /* a power of two; members are masks of 16 bits */
#define ABI_USER_FRAMES_MAX   1024 /* the deepest user walk */
#define ABI_KERNEL_FRAMES_MAX 127  /* kernel.perf_event_max_stack as it comes */
#define ABI_FRAMES_MAX        (ABI_USER_FRAMES_MAX + ABI_KERNEL_FRAMES_MAX)
#define ABI_MEMBERS_MAX       16384
#define ABI_ROOTS_MAX         16384
#define ABI_ENDED_MAX         16384
#define ABI_COMM_SIZE         16
#define ABI_COPY_MAX          49152u /* bytes of a stack that a record can carry */
#define ABI_WAIT_CLOCKS_MAX   4      /* samplers of waits at a time */
#define ABI_WAITS_KEPT_MAX    16384 /* threads that had a tick on a CPU, or in a wait that goes on */
#define ABI_WAKERS_MAX        4096  /* threads that were woken, and have not had a CPU since */
#define ABI_WAKER_FRAMES      24    /* user frames of a waker */
#define ABI_WAIT_RING_BYTES   65536 /* 16 bytes for each wait that is sampled between two drains */
#define ABI_LIVES_BYTES       (256u << 10)
#define ABI_CODES_BYTES       (256u << 10)
#define ABI_TOLD_BITS         12 /* of the table of code objects that were told */
#define ABI_TOLD_WAYS         4
#define ABI_RUNTIMES_MAX      256 /* files of interpreters */
#define ABI_CODES_MAX         256 /* an interpreter's frames in a sample */
#define ABI_GROUPS_MAX        256
#define ABI_RUNTIME_MAX       (ABI_CODES_MAX + ABI_GROUPS_MAX)

/* common/frame.h's FRAME_IMAGE */
#define ABI_FRAME_IMAGE(image, offset) (1ull << 60 | (__u64)(image) << 32 | (__u32)(offset))

/* Bits of abi_sample.rest. */
#define ABI_REST          1 /* registers and a copy follow: the walk is to be finished */
#define ABI_PUSHED        2 /* the frame of the registers is among the frames */
#define ABI_WITNESS       4 /* with ABI_REST: the walk is complete, and this is for its repetition */
#define ABI_CUT           8 /* an interpreter has more frames than these */
#define ABI_KERNEL_THREAD 16
#define ABI_WAKER         32 /* not a sample: the stack of a waker, see bpf/wakers.bpf.h */
#define ABI_IDLE          64 /* with ABI_WAKER: no thread had the CPU */

/* Bits of abi_sample.owner and abi_life.owner. */
#define ABI_OWNER_KNOWN 1
#define ABI_OWNER_ONLY  2 /* the process runs as uid alone, and that user may look into it */

/*
 * One sample, followed by n_kernel + n_user frames of eight bytes, leaf first. Kernel frames are as
 * the kernel gives them: callers are return addresses. User frames are lookup addresses already
 * (common/frame.h). With ABI_REST, a struct unwind_registers and copy_bytes of stack follow. Last
 * come n_runtime struct abi_runtime_entry.
 */
struct abi_sample {
	__u64 time_ns;         /* CLOCK_MONOTONIC */
	__u64 period;          /* events that it is of; of a wait: of one tick */
	__u64 start_ns;        /* of the process, CLOCK_BOOTTIME */
	__u64 cgroup_id;       /* cgroup v2 */
	__u64 walked_until_ns; /* the root's until_ns; 0: there was none, or it was void */
	__u64 start_stack;     /* with ABI_REST: the mm's; 0 unknown */
	__u64 start_code;      /* with ABI_REST: the program's own; 0 unknown, as is end_code */
	__u64 end_code;
	__u64 copy_address; /* with ABI_REST */
	__u64 waker; /* of a wait: number of its waker's record, 0 unknown; with ABI_WAKER its own
		      */
	__u32 copy_bytes; /* with ABI_REST, at most ABI_COPY_MAX, a multiple of 8 */
	__u32 pid, tid;
	__u32 n_blocked, n_runnable; /* ticks of a wait that has ended; both 0: it is none */
	__u16 cpu;
	__s16 call; /* of a wait: its system call's number, or WAIT_NO_CALL */
	__u16 n_kernel, n_user;
	__u8 sampler;
	__u8 quality; /* enum stack_quality */
	__u8 reason;
	__u8 wait; /* enum wait_state of n_blocked */
	__u8 rest;
	__u8 owner;
	__u16 n_runtime;
	__u32 uid;                /* with ABI_OWNER_KNOWN: real, of the first thread */
	char comm[ABI_COMM_SIZE]; /* of the thread, in the system or as its interpreter has it */
};

/*
 * An interpreter's frames, leaf first, in groups: those of one entry of its evaluation loop, and
 * then the group's end.
 */
enum abi_runtime_kind {
	ABI_RUNTIME_CODE,  /* value: id of the code; at: bytes from its first instruction */
	ABI_RUNTIME_GROUP, /* value: the group's anchor; at: before that native user frame */
	ABI_RUNTIME_LOOP,  /* the same, and that frame is the loop's, which holds the anchor */
	/* A function with a native frame of its own. value: id of the code; at: that frame; in the
	 * bits above: bytes from its first instruction. */
	ABI_RUNTIME_OWN,
	ABI_RUNTIME_BEHIND, /* the same, but the frame at `at` is another's: it comes before that */
	/* The end of a group without an anchor: the next frame whose code is in the `at` bytes
	 * from `value` on is the loop's. */
	ABI_RUNTIME_COUNTED,
};

#define ABI_RUNTIME_KIND_BITS 8 /* of abi_runtime_entry.kind */

#define ABI_UNPLACED 0xffffffffu /* the walk did not come as far as the anchor */

struct abi_runtime_entry {
	__u64 value;
	__u32 at;
	__u32 kind; /* enum abi_runtime_kind, and what is above it */
};

/* Ids of code objects that were told, the latest first; they have the same first ABI_TOLD_BITS. */
struct abi_told {
	__u64 ids[ABI_TOLD_WAYS];
};

/* The first sight of a code object, cut to the length that table_bytes leaves. */
#define ABI_CODE_NAME  128
#define ABI_CODE_FILE  256
#define ABI_CODE_TABLE RUNTIME_TABLE_MAX

struct abi_code {
	__u64 id;
	__u32 pid;
	__u32 version; /* of the interpreter, as in struct runtime_row */
	__u32 first_line;
	__u16 name_bytes, file_bytes, table_bytes;
	__u8 name_width, file_width; /* bytes of a character */
	__u32 uid;                   /* whose process it is; ABI_NOBODY: unknown */
	__u8 name[ABI_CODE_NAME], file[ABI_CODE_FILE];
	__u8 table[ABI_CODE_TABLE];
};

#define ABI_NOBODY    0xffffffffu
#define ABI_CODE_HEAD (sizeof(struct abi_code) - ABI_CODE_TABLE)

/*
 * Which file an interpreter's row is of. Of one that is a library there are two more, with inode 0:
 * as size, the link-time address of its dynamic section, which is what a process says of it; or
 * its image's number, and ABI_RUNTIME_IMAGE as device.
 */
#define ABI_RUNTIME_IMAGE 0xffffffffu
struct abi_runtime_key {
	__u64 inode, size;
	__u32 device; /* as the kernel has it: major << 20 | minor */
	__u32 reserved;
};

enum abi_life_kind { ABI_LIFE_ENDED, ABI_LIFE_MOVED, ABI_LIFE_BEGUN };

/* What happened to a process: bpf/lives.bpf.h. */
struct abi_life {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 id;      /* MOVED: cgroup v2, 0 unknown; BEGUN with ABI_OWNER_KNOWN: the real uid */
	__u32 pid;
	__u8 kind;  /* enum abi_life_kind */
	__u8 owner; /* BEGUN */
	__u16 reserved;
};

/* How one sampler works; profd writes, the program reads, in the middle of sampling too. */
struct abi_sampler {
	__u64 ring_bytes; /* profd is woken when half of it is waiting */
	__u64 cell_ns;   /* of its CPUs' clocks (bpf/cpu_clock.bpf.h), below 2^31; 0: it has none */
	__u32 max_depth; /* user frames, 1 .. ABI_USER_FRAMES_MAX */
	__u8 all;        /* every process, else the members */
	__u8 kernel_stacks;
	__u8 exclude_user, exclude_kernel; /* where the event itself cannot tell them apart */
};

/* Of each run of the program for a sampler in which a sample was due; per CPU. */
#define ABI_COUNTERS(X)                                                                \
	X(period_sum) /* of the event's count, what all its ticks that came were of */ \
	X(runs)       /* those runs */                                                 \
	X(seen)       /* runs that were to become a sample */                          \
	X(idle)       /* runs on an idle CPU */                                        \
	X(excluded)   /* runs outside the filter; the next two are among them */       \
	X(self)       /* runs in profd */                                              \
	X(outside)    /* runs in processes without a pid here: bpf/pids.bpf.h */       \
	X(wait_ticks) /* ticks of a clock of waits in the waits that were seen */      \
	X(cpu_ticks)  /* and those that its threads had on a CPU */                    \
	X(run_ns)     /* how long the runs took that became a sample */                \
	X(watch_ns)   /* how long the switches and wake-ups took that were timed */

#define ABI_COUNTER_FIELD(n) __u64 n;

/* Where waits are sampled, one in ABI_WATCH_ONE_IN switches and wake-ups of threads is timed. */
#define ABI_WATCH_BITS   10
#define ABI_WATCH_ONE_IN (1u << ABI_WATCH_BITS)

/* A CPU's clock, of a sampler: bpf/cpu_clock.bpf.h. Times are by period_sum, but for tick_ns. */
struct abi_cpu_clock {
	__u64 next;        /* when it ticks next */
	__u64 end;         /* of the cell that this is in */
	__u64 moved;       /* how far the ends of cells are from multiples of a cell */
	__u64 moves;       /* whether the next cell moves them */
	__u64 pending;     /* ticks that have no sample yet */
	__u64 tick_ns;     /* the event's last tick, CLOCK_MONOTONIC */
	__u64 tick_period; /* and its period then; at first the sampler's */
};

struct abi_counters {
	ABI_COUNTERS(ABI_COUNTER_FIELD)
	__u64 lost[N_LOST]; /* of those seen */
	struct abi_cpu_clock clock;
};

/*
 * A clock of waits (bpf/waits.bpf.h), of a sampler. Each thread's ticks once in each cell. profd
 * writes all but since_ns.
 */
struct abi_wait_clock {
	__u64 cell_ns;  /* 0: not in use; below 2^32 */
	__u64 since_ns; /* rq.clock of the first switch */
	__u32 sampler;
	__u32 wakers; /* whether its waits have wakers: bpf/wakers.bpf.h */
};

/* What is known of a thread, by its pid in the initial namespace and its clock. */
struct abi_wait_kept {
	__u64 arrival; /* its sched_info.last_arrival then: else it is of an earlier time */
	__u64 n;       /* ticks since that are accounted for */
};

/* What has woken a thread, by its pid in the initial namespace. */
struct abi_waker {
	__u64 arrival; /* of the thread, as in struct abi_wait_kept */
	__u64 number;  /* of the record */
};

/* A process in the filter, by its pid; bit i is sampler i. */
struct abi_member {
	__u64 start_ns; /* CLOCK_BOOTTIME, 0: unknown (a member since before its birth was seen) */
	__u16 samplers; /* that sample it */
	__u16 inheriting; /* that its children join at birth */
	__u32 reserved;
};

/*
 * The address space of a process, by its pid. It counts as long as the process was neither born nor
 * executed a program after root.until_ns: the time of the last such event of any pid with the same
 * ABI_CHANGED_BITS low bits stands in an array.
 */
struct abi_root {
	struct unwind_root root;
	__u64 start_ns; /* of a process that inherited it, CLOCK_BOOTTIME; 0: profd put it there */
};

#define ABI_CHANGED_BITS 16

_Static_assert(sizeof(struct unwind_registers) == 168, "struct unwind_registers");
_Static_assert(sizeof(struct abi_sample) == 136, "struct abi_sample");
_Static_assert(sizeof(struct abi_runtime_entry) == 16, "struct abi_runtime_entry");
_Static_assert(__builtin_offsetof(struct abi_code, table) == ABI_CODE_HEAD, "struct abi_code");
_Static_assert(sizeof(struct abi_told) == 32, "struct abi_told");
_Static_assert(sizeof(struct abi_runtime_key) == 24, "struct abi_runtime_key");
_Static_assert(sizeof(struct abi_life) == 24, "struct abi_life");
_Static_assert(sizeof(struct abi_sampler) == 24, "struct abi_sampler");
_Static_assert(sizeof(struct abi_counters) == 8 * (11 + N_LOST + 7), "struct abi_counters");
_Static_assert(sizeof(struct abi_wait_clock) == 24, "struct abi_wait_clock");
_Static_assert(sizeof(struct abi_wait_kept) == 16, "struct abi_wait_kept");
_Static_assert(sizeof(struct abi_waker) == 16, "struct abi_waker");
_Static_assert(sizeof(struct abi_member) == 16, "struct abi_member");
_Static_assert(sizeof(struct abi_root) == 32, "struct abi_root");

#endif
