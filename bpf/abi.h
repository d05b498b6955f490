/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_ABI_H
#define PROFD_BPF_ABI_H

/*
 * What the BPF programs and profd say to each other: the sample record in the ring buffers, the
 * settings of a sampler, the counters, the members of the filter. Both sides are built from one
 * tree and one object embeds the other, so there are no versions; sizes are asserted.
 */
#include "common/reasons.h"

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
#define ABI_COMM_SIZE         16

/*
 * One sample, followed by n_kernel + n_user frames of eight bytes, leaf first. Kernel frames are as
 * the kernel gives them: callers are return addresses. User frames are lookup addresses already
 * (common/frame.h).
 */
struct abi_sample {
	__u64 time_ns;   /* CLOCK_MONOTONIC */
	__u64 period;    /* events since the event's previous overflow */
	__u64 start_ns;  /* of the process, CLOCK_BOOTTIME */
	__u64 cgroup_id; /* cgroup v2 */
	__u32 pid, tid;
	__u32 cpu;
	__u16 n_kernel, n_user;
	__u8 sampler;
	__u8 quality; /* enum stack_quality */
	__u8 reason;
	__u8 kernel_thread;
	__u32 reserved;
	char comm[ABI_COMM_SIZE];
};

/* How one sampler works; profd writes, the program reads, in the middle of sampling too. */
struct abi_sampler {
	__u64 wakeup_bytes; /* wake profd when so much waits in the ring */
	__u64 clock_period; /* nanoseconds between ticks of a clock; 0: not a clock */
	__u32 max_depth;    /* user frames, 1 .. ABI_USER_FRAMES_MAX */
	__u8 all;           /* every process, else the members */
	__u8 kernel_stacks;
	__u8 exclude_user, exclude_kernel; /* where the event itself cannot tell them apart */
};

/* Of each run of the program for a sampler; per CPU. */
#define ABI_COUNTERS(X)                                                                            \
	X(runs)          /* times the program ran */                                               \
	X(period_sum)    /* sum of the periods of all runs: what the event's count says was due */ \
	X(seen)          /* runs that were to become a sample */                                   \
	X(idle)          /* runs on an idle CPU */                                                 \
	X(excluded)      /* runs outside the filter, profd's own among them */                     \
	X(self)          /* runs in profd */                                                       \
	X(kernel_failed) /* kernel stacks that could not be had: one frame instead */

#define ABI_COUNTER_FIELD(n) __u64 n;

struct abi_counters {
	ABI_COUNTERS(ABI_COUNTER_FIELD)
	__u64 lost[N_LOST]; /* of those seen */
	__u64 last_idle_ns; /* when the last run was, if it met an idle CPU, else 0 */
};

/* A process in the filter, by its pid; bit i is sampler i. */
struct abi_member {
	__u64 start_ns; /* CLOCK_BOOTTIME, 0: unknown (a member since before its birth was seen) */
	__u16 samplers; /* that sample it */
	__u16 inheriting; /* that its children join at birth */
	__u32 reserved;
};

_Static_assert(sizeof(struct abi_sample) == 72, "struct abi_sample");
_Static_assert(sizeof(struct abi_sampler) == 24, "struct abi_sampler");
_Static_assert(sizeof(struct abi_counters) == 8 * (8 + N_LOST), "struct abi_counters");
_Static_assert(sizeof(struct abi_member) == 16, "struct abi_member");

#endif
