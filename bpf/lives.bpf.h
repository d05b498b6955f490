/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_LIVES_BPF_H
#define PROFD_BPF_LIVES_BPF_H

/*
 * What happens to processes and no record of perf shows: the end of a process, which is not that of
 * its first thread; that it came into another control group, of whatever hierarchy; and who owns
 * the program that it began. So profd need not ask /proc, which may wait for locks that the
 * process's owner can hold.
 *
 * A ring of their own: no tick writes to it, so that none waits for it.
 */
#include "bpf/abi.h"

#include "bpf/kernel_types.h"
#include "bpf/owner.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_LIVES_BYTES);
} lives SEC(".maps");

/* Records for which there was no room. */
__u64 lives_lost;

static __always_inline void lives_send(struct abi_life *life)
{
	bool late = bpf_ringbuf_query(&lives, BPF_RB_AVAIL_DATA) > ABI_LIVES_BYTES / 2;

	life->time_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&lives, life, sizeof(*life),
			       late ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&lives_lost, 1);
}

static __always_inline void lives_move(struct task_struct *task, __u32 pid)
{
	struct abi_life life = {.pid = pid, .kind = ABI_LIFE_MOVED};

	/* Threads can be in other groups than their process. */
	if (task->pid == task->tgid)
		life.id = task->cgroups->dfl_cgrp->kn->id;
	lives_send(&life);
}

/* A child is in its parent's groups, unless clone3(2) puts it elsewhere, or its thread was. */
static __always_inline void lives_fork(struct task_struct *parent, struct task_struct *child,
				       __u32 pid)
{
	if (child->cgroups != parent->group_leader->cgroups)
		lives_move(child, pid);
}

/* A program has its credentials and its memory; its records of perf came before. */
static __always_inline void lives_exec(struct task_struct *task, __u32 pid)
{
	struct abi_life life = {.pid = pid, .kind = ABI_LIFE_BEGUN};
	__u32 uid = 0;

	life.owner = owner_read(task, &uid);
	life.id = uid;
	lives_send(&life);
}

static __always_inline void lives_end(__u32 pid)
{
	struct abi_life life = {.pid = pid, .kind = ABI_LIFE_ENDED};

	lives_send(&life);
}

#endif
