/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_LIVES_BPF_H
#define PROFD_BPF_LIVES_BPF_H

/*
 * What happens to processes and no record of perf tells: the end of a process, which is not that of
 * its first thread; and that it came into another control group, of whatever hierarchy. So profd
 * need not ask /proc, which may wait for locks that the process's owner can hold.
 *
 * A ring of their own: no tick writes to it, so that none waits for it.
 */
#include "bpf/abi.h"

#include "bpf/kernel_types.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_LIVES_BYTES);
} lives SEC(".maps");

/* Records for which there was no room. */
__u64 lives_lost;

static __always_inline void lives_tell(__u32 pid, __u32 kind)
{
	struct abi_life life = {.time_ns = bpf_ktime_get_ns(), .pid = pid, .kind = kind};
	bool late = bpf_ringbuf_query(&lives, BPF_RB_AVAIL_DATA) > ABI_LIVES_BYTES / 2;

	if (bpf_ringbuf_output(&lives, &life, sizeof(life),
			       late ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&lives_lost, 1);
}

/* A child is in its parent's groups, unless clone3(2) puts it elsewhere, or its thread was. */
static __always_inline void lives_fork(struct task_struct *parent, struct task_struct *child)
{
	if (child->pid == child->tgid && child->cgroups != parent->group_leader->cgroups)
		lives_tell(child->tgid, ABI_LIFE_MOVED);
}

/* A thread ends: no other is alive when it was the last one (kernel/exit.c, do_exit()). */
static __always_inline void lives_exit(struct task_struct *task)
{
	if (task->signal->live.counter == 0)
		lives_tell(task->tgid, ABI_LIFE_ENDED);
}

#endif
