/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_WAKERS_BPF_H
#define PROFD_BPF_WAKERS_BPF_H

/*
 * Wakers, for clocks that want them (bpf/waits.bpf.h). When a thread is woken, arithmetic says
 * already whether its wait is going to be a sample. Only if it is, the stack of the current thread,
 * which wakes it, is taken and sent, under a number that the sample of the wait has as well.
 *
 * The wake-up's time is CLOCK_MONOTONIC less its offset from rq.clock, measured at a recent switch;
 * the clock of the run queue itself stands still in between. The switch was before it was measured,
 * so the time is a little early: of a tick that falls in between, the waker is not known.
 *
 * The tracepoint comes with interrupts off and a lock of the woken thread's held: so a walk ends
 * after a few frames, and nothing is copied for profd to finish it.
 */
#include "bpf/waits.bpf.h"

#define WAKERS_MEMORY 1 /* in wait_memory */

/* Whether the wait of @task, which is woken @now, has a tick of clock @i that is its own. */
static __noinline int waker_is_due(struct task_struct *task, __u32 i, __u64 now)
{
	volatile struct abi_wait_clock *clock = &wait_clocks[i & (ABI_WAIT_CLOCKS_MAX - 1)];
	__u64 cell_ns = clock->cell_ns, n;
	struct abi_wait_kept *kept;
	__u32 pid = task->pid;
	void *map;

	if (!cell_ns || !clock->wakers)
		return 0;
	n = wait_ticks(wait_seed(task), wait_from(task, clock), now, cell_ns);
	map = n ? bpf_map_lookup_elem(&waits_kept, &i) : NULL;
	if (!map)
		return 0;
	kept = bpf_map_lookup_elem(map, &pid);
	return !kept || kept->arrival != task->sched_info.last_arrival || kept->n < n;
}

/* And whether clock @i samples it. */
static __noinline int waker_is_wanted(struct task_struct *task, __u32 i)
{
	__u64 ids = (__u64)task->tgid << 32 | (__u32)task->pid;
	__u32 sampler = wait_clocks[i & (ABI_WAIT_CLOCKS_MAX - 1)].sampler;
	struct abi_counters unused = {0}; /* the sample counts, not this */

	return filter_task(config_of(sampler), sampler, task, false, &unused, &ids);
}

static __always_inline void waker_keep(const struct task_struct *task, __u64 number)
{
	const struct abi_waker waker = {task->sched_info.last_arrival, number};
	__u32 first = 0, pid = task->pid;
	void *map = bpf_map_lookup_elem(&wait_woken, &first);

	if (map)
		bpf_map_update_elem(map, &pid, &waker, 0);
}

/* Fills in what @s is to say of the current thread. False: nothing is to be said of it. */
static __always_inline bool waker_fill(struct wait_scratch *w, struct task_struct *waker,
				       const struct cause *cause)
{
	__u64 ids = bpf_get_current_pid_tgid();
	struct abi_sample *record = &w->scratch.record;
	long length;

	if (pids_translated && ids) {
		ids = pids_of(waker);
		/* Outside. The kernel's threads belong to nobody. */
		if (!ids && !(waker->flags & PF_KTHREAD))
			return false;
	}
	sample_fill_header(record, waker, ids, cause);
	record->rest |= ABI_WAKER | (waker->pid ? 0 : ABI_IDLE);
	record->waker = (__u64)bpf_get_smp_processor_id() << 48 | ++w->n_records;
	length = bpf_get_stack(cause->context, w->scratch.body,
			       ABI_KERNEL_FRAMES_MAX * sizeof(__u64), 0);
	/* Without it an interrupt would look like the thread that it came to. */
	if (length < (long)sizeof(__u64))
		return false;
	record->n_kernel = (__u64)length / sizeof(__u64);
	return true;
}

/* The record to the sampler of clock @i, unless samples need the room. */
static __always_inline void waker_send_to(struct scratch *s, __u32 i, __u64 length)
{
	__u32 sampler = wait_clocks[i & (ABI_WAIT_CLOCKS_MAX - 1)].sampler;
	void *ring = bpf_map_lookup_elem(&rings, &sampler);
	__u64 used;

	__asm__ volatile("" : "+r"(length));
	if (!ring || length > BODY_BYTES)
		return;
	used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	if (used > config_of(sampler)->ring_bytes / 4 * 3)
		return;
	s->record.sampler = sampler;
	bpf_ringbuf_output(ring, &s->record, sizeof(s->record) + length, BPF_RB_NO_WAKEUP);
}

/* The current thread wakes @task, which the clocks of @due sample. */
static __always_inline void waker_send(struct task_struct *task, __u32 due, void *context)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct wait_scratch *w = wait_scratch_of(WAKERS_MEMORY, bpf_get_smp_processor_id());
	const struct cause cause = {.context = context};
	__u64 begun_ns = bpf_ktime_get_ns(), length;
	struct abi_counters *c = NULL;
	struct scratch *s;

	if (!w || !waker_fill(w, waker, &cause))
		return;
	s = &w->scratch;
	sample_walk(s, waker, &cause, ABI_WAKER_FRAMES);
	length = sample_append_runtime(s, 8 * (s->unwind.first + s->unwind.n));
	for (__u32 i = 0; i < ABI_WAIT_CLOCKS_MAX; i++) {
		if (!(due >> i & 1))
			continue;
		waker_send_to(s, i, length);
		if (!c) {
			__u32 sampler = s->record.sampler;

			c = bpf_map_lookup_elem(&counters, &sampler);
			if (c)
				c->run_ns += bpf_ktime_get_ns() - begun_ns;
		}
	}
	waker_keep(task, s->record.waker);
}

/* Argument of the tracepoint: the thread that is woken, by the current one. */
SEC("tp_btf/sched_waking")
int wait_wakes(unsigned long long *args)
{
	struct task_struct *task = (void *)args[0];
	__u64 now, begun_ns;
	__u32 due = 0;

	if (!waits_can_be_seen() || !wait_compared_at || !wait_has_clock(task) ||
	    !task->sched_info.last_arrival || !wait_is_asleep(task))
		return 0;
	now = bpf_ktime_get_ns() - wait_ahead_ns;
	begun_ns = wait_watch_begin(now);
	for (__u32 i = 0; i < ABI_WAIT_CLOCKS_MAX; i++)
		if (waker_is_due(task, i, now) && waker_is_wanted(task, i))
			due |= 1u << i;
	if (begun_ns)
		wait_watch_end(begun_ns);
	if (due)
		waker_send(task, due, args);
	return 0;
}

#endif
