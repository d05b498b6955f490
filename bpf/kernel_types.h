/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_KERNEL_TYPES_H
#define PROFD_BPF_KERNEL_TYPES_H

/*
 * All that the BPF programs know of the kernel, and nothing more: the build needs neither a running
 * kernel's BTF nor kernel headers.
 *
 * Three sorts of declarations. Fixed-width types and constants of <linux/bpf.h>, which are kernel
 * ABI. The context of a perf_event program (<linux/bpf_perf_event.h>), ABI too. And the few
 * fields of internal structs that are read, marked preserve_access_index, so that libbpf moves each
 * access to where the running kernel has the field (CO-RE). Their order here means nothing.
 */

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef signed short __s16;
typedef unsigned int __u32;
typedef signed int __s32;
typedef unsigned long long __u64;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#ifndef __bool_true_false_are_defined
typedef _Bool bool;
#define true 1
#define false 0
#endif
#ifndef NULL
#define NULL ((void *)0)
#endif

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum { BPF_NOEXIST = 1 };
enum { BPF_F_MMAPABLE = 1 << 10, BPF_F_INNER_MAP = 1 << 12 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };

/* task_struct.flags (include/linux/sched.h); both values are older than every kernel we run on. */
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/* Of task_struct.__state (include/linux/sched.h), since 4.14; the last one since 5.18. */
#define TASK_INTERRUPTIBLE   0x00000001
#define TASK_UNINTERRUPTIBLE 0x00000002
#define TASK_STOPPED         0x00000004
#define TASK_TRACED          0x00000008
#define TASK_DEAD            0x00000080
#define TASK_FROZEN          0x00008000

#if defined(__TARGET_ARCH_x86)

/* struct pt_regs of arch/x86 as a perf_event program sees it, one word a register. */
struct context_registers {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

/* The same inside the kernel, where cs is narrower since 6.9. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, sp;
} __attribute__((preserve_access_index));

#elif defined(__TARGET_ARCH_arm64)

/* struct user_pt_regs of arch/arm64. */
struct context_registers {
	__u64 regs[31], sp, pc, pstate;
};

struct pt_regs {
	__u64 regs[31], sp, pc, pstate;
	__s32 syscallno;
} __attribute__((preserve_access_index));

#else
#error "no registers known for this architecture"
#endif

struct bpf_perf_event_data {
	struct context_registers regs;
	__u64 sample_period;
	__u64 addr;
};

/* Of mm_struct.flags: MMF_DUMPABLE_MASK, SUID_DUMP_USER (include/linux/sched/coredump.h). */
#define DUMPABLE_MASK 3
#define DUMPABLE_USER 1

struct super_block {
	unsigned int s_dev;
} __attribute__((preserve_access_index));

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	long long i_size;
} __attribute__((preserve_access_index));

struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct mm_struct {
	struct file *exe_file;
	unsigned long start_stack, start_code, end_code;
	unsigned long flags;
} __attribute__((preserve_access_index));

/* Since 6.18. */
struct mm_struct___bitmap {
	struct {
		unsigned long __mm_flags[1];
	} flags;
} __attribute__((preserve_access_index));

struct user_namespace {
	struct {
		__u32 val;
	} owner;
} __attribute__((preserve_access_index));

struct cred {
	struct {
		__u32 val;
	} uid, suid, euid, fsuid, gid, sgid, egid, fsgid;
	struct {
		__u32 cap[2];
	} cap_permitted;
	struct user_namespace *user_ns;
} __attribute__((preserve_access_index));

/* Since 6.3. */
struct cred___wide {
	struct {
		__u64 val;
	} cap_permitted;
} __attribute__((preserve_access_index));

struct pid_namespace;

/* Read as it is: the same in all kernels since 4.15. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;     /* of the namespace that it was made in */
	struct upid numbers[1]; /* in that one and all around it, by their levels */
} __attribute__((preserve_access_index));

#define PIDTYPE_TGID 1

struct signal_struct {
	struct {
		int counter;
	} live;              /* threads that have not begun to exit */
	struct pid *pids[4]; /* by PIDTYPE_; NULL when the process was waited for */
} __attribute__((preserve_access_index));

struct kernfs_node {
	__u64 id;
} __attribute__((preserve_access_index));

struct cgroup {
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

struct css_set {
	struct cgroup *dfl_cgrp; /* of version 2 */
} __attribute__((preserve_access_index));

/* What iterators print to (<linux/seq_file.h>). */
struct seq_file {
	unsigned long size, count; /* bytes of its buffer, and of them those that are printed */
} __attribute__((preserve_access_index));

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

/* Of an iterator over tasks (kernel/bpf/task_iter.c); the task is NULL at the end. */
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));
#endif

struct task_struct;

/* With CONFIG_FAIR_GROUP_SCHED, of tasks of every scheduling class. */
struct rq {
	__u64 clock;              /* ns, of sched_clock(); brought up to date before a switch */
	struct task_struct *curr; /* set before the tracepoint sched_switch */
} __attribute__((preserve_access_index));

struct cfs_rq {
	struct rq *rq;
} __attribute__((preserve_access_index));

struct sched_entity {
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

/* With CONFIG_SCHED_INFO; of rq.clock (kernel/sched/stats.h). */
struct sched_info {
	__u64 last_arrival; /* on a CPU; 0: it never was on one */
	__u64 last_queued;  /* when it began to wait for a CPU; 0: it does not, or has one */
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	__u64 start_boottime;
	__u64 self_exec_id; /* how often it has executed a program, but for threads that do */
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	const struct cred *real_cred;
	struct pid *thread_pid; /* NULL when the thread was waited for */
	struct signal_struct *signal;
	struct css_set *cgroups; /* one for each set of groups, of all hierarchies */
	char comm[16];
	unsigned in_execve : 1;
	unsigned in_iowait : 1;                 /* also just after its wait */
	unsigned sched_contributes_to_load : 1; /* its last sleep was uninterruptible */
	unsigned int __state;
	/* Unsigned, as they are not equally wide in all kernels. */
	unsigned int exit_state; /* not 0: it has ended */
	unsigned int on_cpu;
	unsigned int wake_cpu; /* that it was on last, about */
	struct sched_entity se;
	struct sched_info sched_info;
#if defined(__TARGET_ARCH_x86)
	struct thread_struct thread;
#endif
} __attribute__((preserve_access_index));

#endif
