/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_ROOTS_BPF_H
#define PROFD_BPF_ROOTS_BPF_H

/*
 * Which mappings a process has, as far as profd has told, and whether that still holds. profd reads
 * of a process's life some time after it happened, so what it says of a process is void as soon as
 * the process executes a program, or another process is born with its pid, after the moment up to
 * which profd has read. A child begins with what its parent had: a fork copies the address space.
 *
 * Mappings that come and go otherwise are no business of the programs: a code address in a new one
 * is in no mapping known, and profd finishes such walks; it also knows the walks that went by one
 * that had just been replaced.
 */
#include "bpf/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_ROOTS_MAX);
	__type(key, __u32);
	__type(value, struct abi_root);
} roots SEC(".maps");

/* CLOCK_MONOTONIC of the newest birth or exec of a pid with these low bits. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << ABI_CHANGED_BITS);
	__type(key, __u32);
	__type(value, __u64);
} changed SEC(".maps");

/* Children that could not have their parent's root; roots that outlived their process. */
__u64 fork_misses, stale_roots;

static __always_inline void roots_change(__u32 pid, __u64 now)
{
	__u32 key = pid & ((1 << ABI_CHANGED_BITS) - 1);
	__u64 *at = bpf_map_lookup_elem(&changed, &key);

	if (at)
		*at = now;
}

/*
 * Copies the root of @pid, if it has one that holds. The element of a preallocated hash can be used
 * again for another pid while it is being read (kernel/bpf/hashtab.c): the pid is looked at again
 * afterwards. What is wrong all the same is caught by the bounds of the searches.
 */
static __always_inline bool roots_find(__u32 pid, struct unwind_root *ret)
{
	__u32 key = pid & ((1 << ABI_CHANGED_BITS) - 1);
	struct abi_root *found = bpf_map_lookup_elem(&roots, &pid);
	__u64 *at = bpf_map_lookup_elem(&changed, &key);

	if (!found || !at)
		return false;
	ret->until_ns = found->root.until_ns;
	ret->first = found->root.first;
	ret->n = found->root.n;
	ret->runtime = found->root.runtime;
	ret->version = found->root.version;
	__asm__ volatile("" : : : "memory");
	ret->pid = found->root.pid;
	return ret->pid == pid && *at <= ret->until_ns;
}

static __always_inline void roots_remove(__u32 pid)
{
	if (bpf_map_lookup_elem(&roots, &pid) && bpf_map_delete_elem(&roots, &pid))
		__sync_fetch_and_add(&stale_roots, 1);
}

/* A process was born: it has what its parent has. */
static __always_inline void roots_fork(__u32 parent, __u32 pid, __u64 start_ns)
{
	__u64 now = bpf_ktime_get_ns();
	struct abi_root joined = {};

	roots_change(pid, now);
	if (!roots_find(parent, &joined.root)) {
		roots_remove(pid);
		return;
	}
	joined.root.pid = pid;
	joined.root.until_ns = now;
	joined.start_ns = start_ns;
	/* What is left of an earlier owner of the pid is void by now. */
	if (bpf_map_update_elem(&roots, &pid, &joined, 0))
		__sync_fetch_and_add(&fork_misses, 1);
}

static __always_inline void roots_exec(__u32 pid)
{
	roots_change(pid, bpf_ktime_get_ns());
}

/* A process is gone. Its @pid may be in use again: then the entry is the newer process's. */
static __always_inline void roots_free(struct task_struct *task, __u32 pid)
{
	struct abi_root *found = bpf_map_lookup_elem(&roots, &pid);

	if (found && (!found->start_ns || found->start_ns == task->start_boottime))
		roots_remove(pid);
}

#endif
