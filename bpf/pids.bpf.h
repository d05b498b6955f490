/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_PIDS_BPF_H
#define PROFD_BPF_PIDS_BPF_H

/*
 * Pids as profd has them: as its own pid namespace numbers processes. So do its /proc, perf's
 * records (kernel/events/core.c, perf_event_pid_type()) and SO_PEERCRED; the numbers in a
 * task_struct are those of the initial namespace. Where profd is in that one, they are taken as
 * they are, which is decided when the programs are loaded.
 *
 * Else a process that is not in profd's namespace, or one below it, has no pid, and is none of
 * profd's business; nor has a thread that was waited for already, which runs for some microseconds
 * more. What is to be done when a process is freed finds its pid in a hash, where it was put when
 * the last thread ended.
 */
#include "bpf/abi.h"

/* profd is in another namespace than the initial one: pids_find() has run. */
const volatile bool pids_translated;

#define PIDS_LEVELS 64 /* more than the kernel's MAX_PID_NS_LEVEL, and a power of two */

/* profd's namespace, and its own pid in the initial one. */
__u64 pids_namespace;
__u32 pids_level, pids_self;

/* By their pids in the initial namespace, of processes that end: their pids here. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_ENDED_MAX);
	__type(key, __u32);
	__type(value, __u32);
} ended SEC(".maps");

static __always_inline bool pids_read_number(const struct pid *pid, __u32 level, struct upid *ret)
{
	const struct upid *numbers = pid->numbers;

	return !bpf_probe_read_kernel(ret, sizeof(*ret), numbers + (level & (PIDS_LEVELS - 1)));
}

/* The number of @pid here, 0: it has none. */
static __always_inline __u32 pids_number(const struct pid *pid)
{
	struct upid id;

	if (!pid || pid->level < pids_level || !pids_read_number(pid, pids_level, &id) ||
	    (__u64)id.ns != pids_namespace)
		return 0;
	return id.nr;
}

/* The pid of @task's process, 0: it has none. Not of one that is freed. */
static __always_inline __u32 pids_process(const struct task_struct *task)
{
	return pids_translated ? pids_number(task->signal->pids[PIDTYPE_TGID]) : (__u32)task->tgid;
}

/* Of a process's first thread; 0 of other ones, too. */
static __always_inline __u32 pids_first(const struct task_struct *task)
{
	return task->pid == task->tgid ? pids_process(task) : 0;
}

/* Where they are translated: as bpf_get_current_pid_tgid() returns them; 0: there are none here. */
static __always_inline __u64 pids_of(const struct task_struct *task)
{
	__u32 pid = pids_number(task->signal->pids[PIDTYPE_TGID]);
	__u32 tid = pids_number(task->thread_pid);

	return pid && tid ? (__u64)pid << 32 | tid : 0;
}

/* The last thread of process @pid ends. False: pids_freed() will not find it. */
static __always_inline bool pids_end(const struct task_struct *task, __u32 pid)
{
	__u32 key = task->tgid;

	return !pids_translated || !bpf_map_update_elem(&ended, &key, &pid, 0);
}

/* The pid of a process whose first thread is freed; 0: another thread, or it is not known. */
static __always_inline __u32 pids_freed(const struct task_struct *task)
{
	__u32 key = task->tgid, *found, pid;

	if (task->pid != task->tgid)
		return 0;
	if (!pids_translated)
		return key;
	found = bpf_map_lookup_elem(&ended, &key);
	if (!found)
		return 0;
	pid = *found;
	bpf_map_delete_elem(&ended, &key);
	return pid;
}

/* Run by profd. */
static __always_inline void pids_find(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pid *pid = task->signal->pids[PIDTYPE_TGID];
	struct upid id;

	if (!pid || !pids_read_number(pid, pid->level, &id))
		return;
	pids_level = pid->level;
	pids_self = task->tgid;
	pids_namespace = (__u64)id.ns;
}

#endif
