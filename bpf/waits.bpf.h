/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_WAITS_BPF_H
#define PROFD_BPF_WAITS_BPF_H

/*
 * Each thread has a clock of wall time, which ticks once in each cell of P nanoseconds, at a place
 * that a hash of the thread and the cell's number says. So how many ticks are in (a, b] is
 * arithmetic, and an unsampled switch leaves nothing behind. Ticks while the thread has a CPU
 * belong to the clock of CPU time, which samples them (bpf/profile.bpf.c); those in a wait are
 * accounted for when it ends: one stack, for n ticks. A short wait is found in proportion to its
 * length, a long one is never missed.
 *
 *   switch-out:  ticks since last_arrival were on the CPU: if there are any, they are kept
 *   switch-in:   ticks since last_arrival, less what was kept, are the wait's;
 *                those since last_queued were spent runnable
 *
 * Times are those of the run queue (rq.clock), which the scheduler keeps anyway. At the tracepoint
 * the thread that comes has no CPU yet: its kernel stack, without the scheduler's frames, can be
 * taken there, its memory not. So a sampled switch asks for an interrupt of this CPU (irq_work),
 * which comes as soon as the switch is done, in the thread's own context: there its user stack is
 * walked as in a tick. What asks is the wake-up of a ring of this CPU that nobody waits for, by a
 * record that is discarded; profd moves the ring's end.
 *
 * Both programs run with interrupts off and neither in a tick's program, which can be in a
 * non-maskable interrupt: they have scratch memory and counters of their own.
 */
#include "bpf/abi.h"

#include "bpf/kernel_types.h"
#include "bpf/pids.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/wait_ticks.bpf.h"

/* In .bss, which profd maps. */
volatile struct abi_wait_clock wait_clocks[ABI_WAIT_CLOCKS_MAX];

/*
 * How far CLOCK_MONOTONIC was ahead of rq.clock at a switch, and rq.clock then; 0: unknown. Kept up
 * to date while wait_wakers is set: there are clocks whose waits have wakers.
 */
__u64 wait_ahead_ns, wait_compared_at;
volatile __u32 wait_wakers;

#define WAIT_COMPARE_NS 1000000

/* Threads of whose ticks nothing could be kept: those on the CPU count as waiting, then. */
__u64 waits_unkept;

struct wait_due {
	__u32 n_blocked, n_runnable;
	__u64 cell_ns, waker;
};

/*
 * Of a CPU. What is due is of the thread that was switched in last, if pid is not 0. Wakers have
 * such memory of their own, with the number that their last record had.
 */
struct wait_scratch {
	__u32 pid; /* in the initial namespace */
	__u32 n_kernel;
	struct wait_due due[ABI_WAIT_CLOCKS_MAX];
	__u64 n_records;
	struct scratch scratch;
};

/* By size: BTF has these two only as declarations. */
struct wait_scratches {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct wait_scratch));
};

struct waits_kept {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_WAITS_KEPT_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct abi_wait_kept));
};

/*
 * profd makes what is in these while there is a clock of waits, and none of it is there otherwise:
 * the scratch memory, by CPU, and that of wakers; what asks for interrupts, by CPU; what is kept,
 * by clock.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct wait_scratches);
} wait_memory SEC(".maps");

struct wait_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_WAIT_RING_BYTES);
};

/* profd sets the number of entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct wait_ring);
} wait_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ABI_WAIT_CLOCKS_MAX);
	__type(key, __u32);
	__array(values, struct waits_kept);
} waits_kept SEC(".maps");

/* Nobody takes entries out: those that were not used for long make room. */
struct wait_woken {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ABI_WAKERS_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct abi_waker));
};

/* Of all clocks, while one of them has wakers. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct wait_woken);
} wait_woken SEC(".maps");

static __always_inline __u64 wait_seed(const struct task_struct *task)
{
	return task->start_boottime ^ (__u64)task->pid << 32;
}

/* --- switches --------------------------------------------------------------------------------- */

/* Only where the kernel has all that is read. */
static __always_inline bool waits_can_be_seen(void)
{
	return bpf_core_field_exists(struct task_struct, sched_info) &&
	       bpf_core_field_exists(struct task_struct, __state) &&
	       bpf_core_field_exists(struct sched_info, last_arrival) &&
	       bpf_core_field_exists(struct sched_info, last_queued) &&
	       bpf_core_field_exists(struct sched_entity, cfs_rq) &&
	       bpf_core_field_exists(struct cfs_rq, rq) && bpf_core_field_exists(struct rq, clock);
}

/* Idle tasks and kernel threads have no clock. */
static __always_inline bool wait_has_clock(const struct task_struct *task)
{
	return task->pid && !(task->flags & PF_KTHREAD);
}

/* Since when what @task does is accounted for by @clock. */
static __always_inline __u64 wait_from(const struct task_struct *task,
				       const volatile struct abi_wait_clock *clock)
{
	__u64 from = task->sched_info.last_arrival, since = clock->since_ns;

	if (!from) /* it is new */
		from = task->sched_info.last_queued;
	return from > since ? from : since;
}

static __always_inline bool wait_is_wanted(const struct task_struct *task, __u32 sampler,
					   struct abi_counters *c)
{
	__u64 ids = (__u64)task->tgid << 32 | (__u32)task->pid;

	return filter_task(config_of(sampler), sampler, task, false, c, &ids);
}

/* @task leaves the CPU, on which it had @n ticks. */
static __noinline int wait_leaves(struct task_struct *task, __u32 i, __u64 n)
{
	struct abi_wait_kept kept = {.arrival = task->sched_info.last_arrival, .n = n};
	__u32 sampler, pid = task->pid;
	struct abi_counters *c;
	void *map;

	sampler = wait_clocks[i & (ABI_WAIT_CLOCKS_MAX - 1)].sampler;
	c = bpf_map_lookup_elem(&counters, &sampler);
	if (!c || !wait_is_wanted(task, sampler, c))
		return 0;
	c->cpu_ticks += n;
	map = bpf_map_lookup_elem(&waits_kept, &i);
	/* One that has ended does not come back. */
	if (!map || task->__state & TASK_DEAD)
		return 0;
	if (bpf_map_update_elem(map, &pid, &kept, 0))
		__sync_fetch_and_add(&waits_unkept, 1);
	return 0;
}

/* What is written before and read behind it is so on other CPUs, too. */
static __always_inline void wait_full_barrier(void)
{
	__u64 word = 0, before;

	/* arm64 orders nothing where nobody wants what was there before. */
	before = __sync_fetch_and_add(&word, 1);
	__asm__ volatile("" : : "r"(before));
}

/* How many of the ticks since it last had a CPU @task had on it. */
static __always_inline __u64 wait_take_kept(const struct task_struct *task, __u32 i)
{
	void *map = bpf_map_lookup_elem(&waits_kept, &i);
	struct abi_wait_kept *kept;
	__u32 pid = task->pid;
	__u64 n = 0;

	if (!map)
		return 0;
	wait_full_barrier(); /* first rq->curr was written; the other half is wait_visit_keep() */
	kept = bpf_map_lookup_elem(map, &pid);
	if (!kept)
		return 0;
	if (kept->arrival == task->sched_info.last_arrival)
		n = kept->n;
	bpf_map_delete_elem(map, &pid);
	return n;
}

/* The number of its waker's record, 0: unknown. */
static __always_inline __u64 wait_find_waker(const struct task_struct *task)
{
	__u32 first = 0, pid = task->pid;
	void *map = bpf_map_lookup_elem(&wait_woken, &first);
	const struct abi_waker *waker = map ? bpf_map_lookup_elem(map, &pid) : NULL;

	return waker && waker->arrival == task->sched_info.last_arrival ? waker->number : 0;
}

static __always_inline struct wait_scratch *wait_scratch_of(__u32 which, __u32 cpu)
{
	void *map = bpf_map_lookup_elem(&wait_memory, &which);

	return map ? bpf_map_lookup_elem(map, &cpu) : NULL;
}

/* The state of a wait that ends, of its sleep. */
static __always_inline __u8 wait_state_of(const struct task_struct *task)
{
	if ((bpf_core_field_exists(task->in_iowait) &&
	     BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait)) ||
	    (bpf_core_field_exists(task->sched_contributes_to_load) &&
	     BPF_CORE_READ_BITFIELD_PROBED(task, sched_contributes_to_load)))
		return WAIT_DISK;
	return WAIT_SLEEP;
}

/* Has wait_take() called on this CPU, with @task, which gets it now. False: it cannot be. */
static __always_inline bool wait_ask(struct task_struct *task, struct wait_scratch *w, __u32 cpu)
{
	void *ring = bpf_map_lookup_elem(&wait_rings, &cpu), *record;
	long length;

	if (!ring)
		return false;
	record = bpf_ringbuf_reserve(ring, 8, 0);
	if (!record)
		return false;
	length = bpf_get_task_stack(task, w->scratch.body, ABI_KERNEL_FRAMES_MAX * sizeof(__u64),
				    0);
	w->n_kernel = length > 0 ? (__u64)length / sizeof(__u64) : 0;
	w->pid = task->pid;
	w->scratch.record.wait = wait_state_of(task);
	bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* What was due and has not been taken is lost. */
static __always_inline void wait_lose(struct wait_scratch *w)
{
	for (__u32 i = 0; i < ABI_WAIT_CLOCKS_MAX; i++) {
		__u32 sampler = wait_clocks[i].sampler;
		struct abi_counters *c = bpf_map_lookup_elem(&counters, &sampler);

		if (c)
			c->lost[LOST_SWITCHED] += !!w->due[i].n_blocked + !!w->due[i].n_runnable;
		w->due[i].n_blocked = 0;
		w->due[i].n_runnable = 0;
	}
	w->pid = 0;
}

/* How many of the last @n ticks before @now @task has been queued for. */
static __always_inline __u64 wait_runnable(const struct task_struct *task, __u64 from, __u64 now,
					   __u64 n, __u64 cell_ns)
{
	__u64 queued = task->sched_info.last_queued, runnable;

	if (!queued)
		return 0;
	runnable = wait_ticks(wait_seed(task), queued > from ? queued : from, now, cell_ns);
	return runnable < n ? runnable : n;
}

/* @task gets the CPU at @now, after @n ticks. */
static __noinline int wait_ends(struct task_struct *task, __u32 i, __u64 n, __u64 now)
{
	volatile struct abi_wait_clock *clock = &wait_clocks[i & (ABI_WAIT_CLOCKS_MAX - 1)];
	__u64 from = wait_from(task, clock), cell_ns = clock->cell_ns, kept, runnable;
	__u32 sampler = clock->sampler, cpu = bpf_get_smp_processor_id();
	struct abi_counters *c = bpf_map_lookup_elem(&counters, &sampler);
	struct wait_scratch *w;
	struct wait_due *due;
	__u32 n_samples;

	if (!c || !cell_ns || !wait_is_wanted(task, sampler, c))
		return 0;
	kept = wait_take_kept(task, i);
	if (n <= kept)
		return 0;
	n -= kept;
	runnable = wait_runnable(task, from, now, n, cell_ns);
	n_samples = 1 + (runnable && runnable < n);
	c->seen += n_samples;
	c->wait_ticks += n;
	w = wait_scratch_of(0, cpu);
	if (!w) {
		c->lost[LOST_SCRATCH] += n_samples;
		return 0;
	}
	due = &w->due[i & (ABI_WAIT_CLOCKS_MAX - 1)];
	/* What was due before and has not been taken. */
	if (w->pid && (w->pid != (__u32)task->pid || due->n_blocked || due->n_runnable))
		wait_lose(w);
	if (!w->pid && !wait_ask(task, w, cpu)) {
		c->lost[LOST_RING_FULL] += n_samples;
		return 0;
	}
	due->n_blocked = n - runnable;
	due->n_runnable = runnable;
	due->cell_ns = cell_ns;
	due->waker = clock->wakers ? wait_find_waker(task) : 0;
	return 0;
}

static __always_inline void wait_switch_clock(struct task_struct *prev, struct task_struct *next,
					      __u32 i, __u64 now)
{
	volatile struct abi_wait_clock *clock = &wait_clocks[i];
	__u64 cell_ns = clock->cell_ns, n;

	if (!cell_ns)
		return;
	if (!clock->since_ns)
		clock->since_ns = now;
	if (wait_has_clock(prev)) {
		n = wait_ticks(wait_seed(prev), wait_from(prev, clock), now, cell_ns);
		if (n)
			wait_leaves(prev, i, n);
	}
	if (wait_has_clock(next)) {
		n = wait_ticks(wait_seed(next), wait_from(next, clock), now, cell_ns);
		if (n)
			wait_ends(next, i, n, now);
	}
}

/* @now, of a switch. */
static __always_inline void wait_compare_clocks(__u64 now)
{
	if ((__s64)(now - wait_compared_at) < WAIT_COMPARE_NS)
		return;
	wait_ahead_ns = bpf_ktime_get_ns() - now;
	wait_compared_at = now;
}

/*
 * The time, if the switch or wake-up at @now is to be timed, else 0. A hash decides, as there are
 * machines whose clock moves in steps.
 */
static __always_inline __u64 wait_watch_begin(__u64 now)
{
	return now * 0x9e3779b97f4a7c15ull >> (64 - ABI_WATCH_BITS) ? 0 : bpf_ktime_get_ns();
}

/*
 * The time counts for the first clock, as only the sum is shown. A longer one is an interrupt's, or
 * the host's.
 */
#define WATCH_MAX_NS 100000

static __noinline int wait_watch_end(__u64 begun_ns)
{
	__u64 watch_ns = bpf_ktime_get_ns() - begun_ns;

	if (watch_ns > WATCH_MAX_NS)
		watch_ns = WATCH_MAX_NS;
	for (__u32 i = 0; i < ABI_WAIT_CLOCKS_MAX; i++) {
		__u32 sampler = wait_clocks[i].sampler;
		struct abi_counters *c;

		if (!wait_clocks[i].cell_ns)
			continue;
		c = bpf_map_lookup_elem(&counters, &sampler);
		if (c)
			c->watch_ns += watch_ns;
		break;
	}
	return 0;
}

/* Arguments of the tracepoint: whether it was preempted, the thread that leaves, the one that
 * comes. */
SEC("tp_btf/sched_switch")
int wait_switch(unsigned long long *args)
{
	struct task_struct *prev = (void *)args[1];
	struct task_struct *next = (void *)args[2];
	__u64 now, begun_ns;

	if (!waits_can_be_seen())
		return 0;
	now = next->se.cfs_rq->rq->clock;
	begun_ns = wait_watch_begin(now);
	if (wait_wakers)
		wait_compare_clocks(now);
	for (__u32 i = 0; i < ABI_WAIT_CLOCKS_MAX; i++)
		wait_switch_clock(prev, next, i, now);
	if (begun_ns)
		wait_watch_end(begun_ns);
	return 0;
}

/* --- the stack, in the thread's own context --------------------------------------------------- */

static __always_inline __s16 wait_call_of(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!regs || REGISTER_COMPAT(regs) || !REGISTER_SYSCALL(regs))
		return WAIT_NO_CALL;
	return REGISTER_CALL(regs);
}

static __always_inline bool wait_is_due(const struct wait_scratch *w, __u32 i)
{
	return w->due[i].n_blocked || w->due[i].n_runnable;
}

/* The record in @s is to be of clock @i, of which something is due. Returns its counters. */
static __always_inline struct abi_counters *wait_fill(struct wait_scratch *w, __u32 i)
{
	struct abi_sample *record = &w->scratch.record;
	__u32 sampler = wait_clocks[i].sampler;
	struct wait_due *due = &w->due[i];

	record->sampler = sampler;
	record->period = due->cell_ns; /* its clock may have ended since */
	record->n_blocked = due->n_blocked;
	record->n_runnable = due->n_runnable;
	record->waker = due->waker;
	due->n_blocked = 0;
	due->n_runnable = 0;
	return bpf_map_lookup_elem(&counters, &sampler);
}

/* The record in @s, whose body has @length bytes, with other ticks, to its sampler's ring. */
static __always_inline void wait_send_copy(struct scratch *s, __u64 length, struct abi_counters *c)
{
	__u32 sampler = s->record.sampler;
	void *ring = bpf_map_lookup_elem(&rings, &sampler);

	if (ring)
		sample_send(s, ring, length, BPF_RB_NO_WAKEUP, c);
	else
		c->lost[LOST_RING_FULL] += sample_count(&s->record);
}

/* What is due of @task, the current one: one walk, and a record for each clock. */
static __always_inline void wait_send(struct wait_scratch *w, struct task_struct *task,
				      void *context)
{
	struct cause cause = {.context = context};
	struct scratch *s = &w->scratch;
	__u64 ids = bpf_get_current_pid_tgid(), length;
	struct abi_counters *c = NULL;
	__u8 state = s->record.wait;
	__u32 i;

	if (pids_translated)
		ids = pids_of(task);
	sample_fill_header(&s->record, task, ids, &cause);
	s->record.wait = state;
	s->record.call = wait_call_of(task);
	for (i = 0; i < ABI_WAIT_CLOCKS_MAX && !wait_is_due(w, i); i++)
		;
	/* For the verifier any of them, so that it follows one walk. */
	__asm__ volatile("" : "+r"(i));
	if (i >= ABI_WAIT_CLOCKS_MAX)
		return;
	c = wait_fill(w, i);
	if (!c)
		return;
	cause.sampler = s->record.sampler;
	s->record.n_kernel = w->n_kernel;
	/* The first one says what the wait is for: daemon/ingest/wait_places.h. */
	if (w->n_kernel > 1 && !config_of(cause.sampler)->kernel_stacks)
		s->record.n_kernel = 1;
	length = walk_and_send(s, task, &cause, c);
	c->run_ns += bpf_ktime_get_ns() - s->record.time_ns;
	for (i = 0; i < ABI_WAIT_CLOCKS_MAX; i++) {
		c = wait_is_due(w, i) ? wait_fill(w, i) : NULL;
		if (c)
			wait_send_copy(s, length, c);
	}
}

/*
 * x86 has a tracepoint for each kind of interrupt, arm64 one for all that CPUs ask each other and
 * themselves for: whichever of them comes first after the switch comes in the thread's own context.
 * (x86 has arm64's by name, but it is never reached.)
 */
#if defined(__TARGET_ARCH_arm64)
SEC("tp_btf/ipi_entry")
#else
SEC("tp_btf/irq_work_entry")
#endif
int wait_take(unsigned long long *args)
{
	struct wait_scratch *w = wait_scratch_of(0, bpf_get_smp_processor_id());
	struct task_struct *task;

	if (!w || !w->pid)
		return 0;
	task = bpf_get_current_task_btf();
	if (w->pid == (__u32)task->pid)
		wait_send(w, task, args);
	wait_lose(w); /* if there is anything left */
	return 0;
}

/* --- waits that go on ------------------------------------------------------------------------- */

/*
 * A thread that sleeps for long is accounted for while it does: profd has all threads visited in
 * the course of a minute or so, and again when a session ends. It goes with the record of what is
 * kept of the thread: the rest of the wait is not counted twice.
 *
 * The thread may be woken at the same time, on another CPU. What is kept is written first, and then
 * it is seen whether the thread still sleeps: if it does, the switch that ends the wait finds what
 * was written. If not, the ticks are ours only if it was found already, which removes it. Two
 * moments remain: in the middle of the switch that cannot be said, and ticks are lost; and a thread
 * that has run and sleeps anew before anything was written loses what was kept of that.
 *
 * When a session ends, threads that wait for a CPU are visited, too. One of these gets it in the
 * middle of a visit as a sleeper does: the run queue says so before what is kept is looked at. But
 * soon it changes its memory, so that of its user stack only the first frame is known.
 */

/* The clock whose threads are visited, and whether those that wait for a CPU are. */
__u32 wait_visited;
volatile __u32 wait_visits_queued;

struct wait_visit {
	struct abi_sample record;
	struct unwind_registers registers;
	__u64 frames[ABI_KERNEL_FRAMES_MAX];
	__u64 leaf;
};

/* One visit at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait_visit);
} wait_visits SEC(".maps");

#define WAIT_VISIT_ROOM (sizeof(struct wait_visit) + 8)

static __always_inline bool wait_is_queued(const struct task_struct *task)
{
	return bpf_core_field_exists(struct rq, curr) && !task->__state && !task->exit_state &&
	       !task->on_cpu && task->se.cfs_rq->rq->curr != task;
}

static __always_inline bool wait_is_asleep(const struct task_struct *task)
{
	return task->__state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE | TASK_STOPPED |
				TASK_TRACED | TASK_FROZEN) &&
	       !(task->__state & TASK_DEAD) && !task->exit_state && !task->on_cpu;
}

static __always_inline bool wait_goes_on(const struct task_struct *task, __u64 arrival)
{
	return (wait_is_asleep(task) || (wait_visits_queued && wait_is_queued(task))) &&
	       task->sched_info.last_arrival == arrival;
}

static __always_inline __u8 wait_state_now(const struct task_struct *task)
{
	__u32 state = task->__state;

	return !state                                               ? wait_state_of(task)
	       : state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN) ? WAIT_STOPPED
	       : state & TASK_UNINTERRUPTIBLE                       ? WAIT_DISK
								    : WAIT_SLEEP;
}

static __always_inline void wait_visit_fill(struct wait_visit *v, struct task_struct *task,
					    __u64 ids)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct mm_struct *mm = task->mm;
	long length;

	__builtin_memset(&v->record, 0, sizeof(v->record));
	__builtin_memset(&v->registers, 0, sizeof(v->registers));
	v->record.time_ns = bpf_ktime_get_ns();
	v->record.start_ns = task->group_leader->start_boottime;
	v->record.cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	v->record.pid = ids >> 32;
	v->record.tid = (__u32)ids;
	v->record.cpu = task->wake_cpu;
	v->record.owner = owner_read(task, &v->record.uid);
	v->record.wait = wait_state_now(task);
	v->record.call = wait_call_of(task);
	__builtin_memcpy(v->record.comm, task->comm, sizeof(v->record.comm));
	length = bpf_get_task_stack(task, v->frames, sizeof(v->frames), 0);
	v->record.n_kernel = length > 0 ? (__u64)length / sizeof(__u64) : 0;
	if (!mm || !regs) {
		v->record.quality = STACK_NO_USER;
	} else if (!task->__state) {
		v->record.quality = STACK_BROKEN;
		v->record.reason = BROKEN_QUEUED;
		v->record.n_user = 1;
		v->leaf = REGISTER_PC(regs) - !!REGISTER_SYSCALL(regs);
	} else {
		v->record.quality = STACK_BROKEN;
		v->record.reason = BROKEN_NO_COPY;
		v->record.rest = ABI_REST;
		v->record.start_stack = mm->start_stack;
		v->record.start_code = mm->start_code;
		v->record.end_code = mm->end_code;
		v->record.copy_address = REGISTER_SP(regs);
		UNWIND_TAKE_REGISTERS(&v->registers, regs, REGISTER_SYSCALL(regs));
	}
}

/* Whether the ticks that are kept as @kept are for the visit to count. */
static __always_inline bool wait_visit_keep(struct task_struct *task, void *map,
					    const struct abi_wait_kept *kept, __u64 before)
{
	struct abi_wait_kept back = {.arrival = kept->arrival, .n = before};
	const struct abi_wait_kept *found;
	__u32 pid = task->pid;

	if (bpf_map_update_elem(map, &pid, kept, 0)) {
		__sync_fetch_and_add(&waits_unkept, 1);
		return false;
	}
	wait_full_barrier(); /* first that, then the state */
	if (wait_goes_on(task, kept->arrival))
		return true;
	found = bpf_map_lookup_elem(map, &pid);
	if (!found || found->arrival != kept->arrival)
		return true;
	if (task->sched_info.last_arrival == kept->arrival)
		bpf_map_update_elem(map, &pid, &back, 0);
	else
		bpf_map_delete_elem(map, &pid);
	return false;
}

static __always_inline void wait_visit_print(struct seq_file *seq, struct wait_visit *v)
{
	__u64 n = v->record.n_kernel;

	bpf_seq_write(seq, &v->record, sizeof(v->record));
	__asm__ volatile("" : "+r"(n));
	n &= ABI_KERNEL_FRAMES_MAX; /* all of its bits are 1 */
	bpf_seq_write(seq, v->frames, n * sizeof(__u64));
	if (v->record.n_user)
		bpf_seq_write(seq, &v->leaf, sizeof(v->leaf));
	if (v->record.rest & ABI_REST)
		bpf_seq_write(seq, &v->registers, sizeof(v->registers));
}

SEC("iter/task")
int wait_visit(struct bpf_iter__task *context)
{
	__u32 first = 0, i = wait_visited & (ABI_WAIT_CLOCKS_MAX - 1), pid, sampler;
	volatile struct abi_wait_clock *clock = &wait_clocks[i];
	struct seq_file *seq = context->meta->seq;
	struct task_struct *task = context->task;
	struct abi_counters unused = {0}; /* nobody excludes a thread by a visit */
	struct abi_wait_kept *found, kept;
	__u64 now, before = 0, ids, from;
	struct abi_counters *c;
	struct wait_visit *v;
	void *map;

	if (!task || !waits_can_be_seen() || !clock->cell_ns || !wait_has_clock(task))
		return 0;
	kept.arrival = task->sched_info.last_arrival;
	if (!kept.arrival && !(wait_visits_queued && task->sched_info.last_queued))
		return 0;
	if (!wait_goes_on(task, kept.arrival))
		return 0;
	now = bpf_get_current_task_btf()->se.cfs_rq->rq->clock;
	from = wait_from(task, clock);
	kept.n = wait_ticks(wait_seed(task), from, now, clock->cell_ns);
	pid = task->pid;
	sampler = clock->sampler;
	map = bpf_map_lookup_elem(&waits_kept, &i);
	c = bpf_map_lookup_elem(&counters, &sampler);
	v = bpf_map_lookup_elem(&wait_visits, &first);
	if (!map || !c || !v)
		return 0;
	found = bpf_map_lookup_elem(map, &pid);
	if (found && found->arrival == kept.arrival)
		before = found->n;
	ids = (__u64)task->tgid << 32 | pid;
	if (kept.n <= before ||
	    !filter_task(config_of(sampler), sampler, task, false, &unused, &ids))
		return 0;
	if (seq->size - seq->count < WAIT_VISIT_ROOM) {
		/* Too much for what is left, on purpose: the kernel visits it again, in the next
		 * read. */
		bpf_seq_write(seq, v, sizeof(*v));
		bpf_seq_write(seq, v, sizeof(*v));
		return 0;
	}
	wait_visit_fill(v, task, ids);
	v->record.sampler = sampler;
	v->record.period = clock->cell_ns;
	v->record.n_runnable = wait_runnable(task, from, now, kept.n - before, clock->cell_ns);
	v->record.n_blocked = kept.n - before - v->record.n_runnable;
	if (!wait_visit_keep(task, map, &kept, before))
		return 0;
	/* A switch may come in between. */
	__sync_fetch_and_add(&c->seen, sample_count(&v->record));
	__sync_fetch_and_add(&c->wait_ticks, kept.n - before);
	wait_visit_print(seq, v);
	return 0;
}

#endif
