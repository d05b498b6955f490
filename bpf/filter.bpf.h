/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_FILTER_BPF_H
#define PROFD_BPF_FILTER_BPF_H

/*
 * Whose ticks become samples. Idle CPUs never, profd's own and its children's only if asked to,
 * else everybody when the sampler says so, or the members of the hash: processes that profd put
 * there, and, where a member is inheriting, what it forks: the child joins in the fork tracepoint,
 * before it first runs. A member leaves when its task is freed, which is after its last sample.
 */
#include "bpf/abi.h"
#include "bpf/pids.bpf.h"

/* Preallocated: before 6.1 a perf_event program may not use any other hash. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_MEMBERS_MAX);
	__type(key, __u32);
	__type(value, struct abi_member);
} members SEC(".maps");

/*
 * Children that could not join the filter, because it is full or its bucket was busy. Counted from
 * the fork tracepoint, which can be preempted: atomic.
 */
__u64 unfollowed;

/* profd's pid in the initial namespace, or 0 if it is not to be excluded. */
__u32 self_pid;
/* Whether its children and theirs are not to be sampled either. */
const volatile bool exclude_children;

/*
 * profd and what it has forked: image workers, and what reads memory for it, which is a grandchild.
 * Nobody else is its child, so no list of them need be kept while they come and go.
 */
static __always_inline bool is_own(const struct task_struct *task, __u32 tgid)
{
	const struct task_struct *parent;
	__u32 self = self_pid;

	if (!self)
		return false;
	if (tgid == self || !exclude_children)
		return tgid == self;
	parent = task->real_parent;
	return parent->tgid == (int)self || parent->real_parent->tgid == (int)self;
}

/*
 * Whether samples of @task are wanted, whose *ids are those of the initial namespace and become
 * those here, unless it is @excluded as it is. What is not wanted is counted in @c.
 */
static __always_inline bool filter_task(const volatile struct abi_sampler *config, __u32 sampler,
					const struct task_struct *task, bool excluded,
					struct abi_counters *c, __u64 *ids)
{
	struct abi_member *member;
	__u32 pid;

	if (is_own(task, *ids >> 32)) {
		c->excluded++;
		c->self++;
		return false;
	}
	if (pids_translated) {
		*ids = pids_of(task);
		if (!*ids) {
			c->excluded++;
			c->outside++;
			return false;
		}
	}
	if (excluded) {
		c->excluded++;
		return false;
	}
	pid = *ids >> 32;
	if (!config->all) {
		member = bpf_map_lookup_elem(&members, &pid);
		if (!member || !(member->samplers >> sampler & 1)) {
			c->excluded++;
			return false;
		}
	}
	return true;
}

/* Counts the tick in @c, and says whether it is to become a sample: of *ret, process and thread. */
static __always_inline bool filter_tick(const volatile struct abi_sampler *config, __u32 sampler,
					bool user, struct abi_counters *c, __u64 *ret)
{
	bool excluded = user ? config->exclude_user : config->exclude_kernel;

	*ret = bpf_get_current_pid_tgid();
	if (!*ret) {
		c->idle++;
		return false;
	}
	if (!filter_task(config, sampler, bpf_get_current_task_btf(), excluded, c, ret))
		return false;
	c->seen++;
	return true;
}

/* A process was born: it joins where its parent says so. */
static __always_inline void filter_fork(__u32 parent, __u32 pid, __u64 start_ns)
{
	struct abi_member joined = {.start_ns = start_ns};
	struct abi_member *member = bpf_map_lookup_elem(&members, &parent);

	if (!member || !member->inheriting)
		return;
	joined.samplers = member->inheriting;
	joined.inheriting = member->inheriting;
	if (bpf_map_update_elem(&members, &pid, &joined, 0))
		__sync_fetch_and_add(&unfollowed, 1);
}

/* A process is gone. Its @pid may be in use again: then the entry is the newer process's. */
static __always_inline void filter_free(struct task_struct *task, __u32 pid)
{
	struct abi_member *member = bpf_map_lookup_elem(&members, &pid);

	if (!member || (member->start_ns && member->start_ns != task->start_boottime))
		return;
	/* Where that fails, the entry stays taken. */
	bpf_map_delete_elem(&members, &pid);
}

#endif
