/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_WAKERS_BPF_H
#define PROFD_BPF_WAKERS_BPF_H

/*
 * What ends a wait, for clocks that want it (bpf/waits.bpf.h). When a thread is woken, arithmetic
 * says already whether its wait is going to be a sample. If it is, and only then, the stack of the
 * thread that wakes it is taken and sent, under a number that the sample of the wait has as well.
 *
 * The clock of the run queue stands still between switches, so the time of a wake-up is had from
 * CLOCK_MONOTONIC, less what that is ahead, as was seen at a switch not long ago. The switch was
 * before it was looked at, so what comes out is a little early, never late: of a tick that falls in
 * between, the waker is not known.
 */
#include "bpf/waits.bpf.h"

#define WAKERS_MEMORY 1 /* in wait_memory */

/* Whether the wait of @task, which is being woken @now, is going to be a sample of clock @i. */
static __noinline int waker_is_wanted(struct task_struct *task, __u32 i, __u64 now)
{
	volatile struct abi_wait_clock *clock = &wait_clocks[i & (ABI_WAIT_CLOCKS_MAX - 1)];
	__u64 n, ids = (__u64)task->tgid << 32 | (__u32)task->pid;
	struct abi_counters unused = {0}; /* the sample counts, not this */
	__u32 sampler = clock->sampler, pid = task->pid;
	struct abi_wait_kept *kept;
	void *map;

	if (!clock->cell_ns || !clock->wakers)
		return 0;
	n = wait_ticks(wait_seed(task), wait_from(task, clock), now, clock->cell_ns);
	map = n ? bpf_map_lookup_elem(&waits_kept, &i) : NULL;
	if (!map)
		return 0;
	kept = bpf_map_lookup_elem(map, &pid);
	if (kept && kept->arrival == task->sched_info.last_arrival && kept->n >= n)
		return 0;
	return filter_task(config_of(sampler), sampler, task, false, &unused, &ids);
}

/*
 * The wait of @task has the waker of number @id. A visit of the thread may come in between, and
 * then it has none.
 */
static __noinline int waker_keep(struct task_struct *task, __u32 i, __u64 id)
{
	struct abi_wait_kept *found, kept = {.arrival = task->sched_info.last_arrival, .waker = id};
	void *map = bpf_map_lookup_elem(&waits_kept, &i);
	__u32 pid = task->pid;

	if (!map)
		return 0;
	found = bpf_map_lookup_elem(map, &pid);
	if (found && found->arrival == kept.arrival)
		found->waker = id;
	else
		bpf_map_update_elem(map, &pid, &kept, found ? 0 : BPF_NOEXIST);
	return 0;
}

/* The current thread wakes @task, which the clocks of @due want to know. */
static __always_inline void waker_send(struct task_struct *task, __u32 due, void *context)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	__u64 ids = bpf_get_current_pid_tgid(), length;
	__u32 cpu = bpf_get_smp_processor_id(), i;
	struct wait_scratch *w = wait_scratch_of(WAKERS_MEMORY, cpu);
	struct cause cause = {.context = context};
	struct scratch *s;

	if (!w)
		return;
	s = &w->scratch;
	if (pids_translated && ids)
		ids = pids_of(waker);
	sample_fill_header(&s->record, waker, ids, &cause);
	s->record.rest |= ABI_WAKER;
	s->record.waker = (__u64)cpu << 48 | ++w->n_records;
	s->record.n_kernel = copy_kernel_stack(&cause, s);
	for (i = 0; i < ABI_WAIT_CLOCKS_MAX && !(due >> i & 1); i++)
		;
	/* For the verifier any of them, so that it follows one walk. */
	__asm__ volatile("" : "+r"(i));
	if (i >= ABI_WAIT_CLOCKS_MAX)
		return;
	cause.sampler = wait_clocks[i].sampler;
	s->record.sampler = cause.sampler;
	length = walk_and_send(s, waker, &cause, &w->unused);
	waker_keep(task, i, s->record.waker);
	due &= ~(1u << i);
	for (i = 0; i < ABI_WAIT_CLOCKS_MAX; i++) {
		if (!(due >> i & 1))
			continue;
		s->record.sampler = wait_clocks[i].sampler;
		wait_send_copy(s, length, &w->unused);
		waker_keep(task, i, s->record.waker);
	}
}

/* Argument of the tracepoint: the thread that is woken, by the current one. */
SEC("tp_btf/sched_waking")
int wait_wakes(unsigned long long *args)
{
	struct task_struct *task = (void *)args[0];
	__u32 due = 0;
	__u64 now;

	if (!waits_can_be_seen() || !wait_compared_at || !wait_has_clock(task) ||
	    !task->sched_info.last_arrival || !wait_goes_on(task, task->sched_info.last_arrival))
		return 0;
	now = bpf_ktime_get_ns() - wait_ahead_ns;
	for (__u32 i = 0; i < ABI_WAIT_CLOCKS_MAX; i++)
		if (wait_clocks[i].wakers && waker_is_wanted(task, i, now))
			due |= 1u << i;
	if (due)
		waker_send(task, due, args);
	return 0;
}

#endif
