/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_INGEST_WAITS_FIXTURE_H
#define PROFD_TESTS_UNIT_INGEST_WAITS_FIXTURE_H

/*
 * bpf/waits.bpf.h and bpf/wakers.bpf.h over a small scheduler, whose threads know what was to be
 * accounted for of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "tests/support/random.h"
#include "tests/unit/ingest/bpf_stubs.h"

const volatile bool pids_translated;

static __u32 current_cpu;
static bool has_stack;

static long bpf_get_stack(void *context, void *to, __u32 length, __u64 flags)
{
	(void)context, (void)length, (void)flags;
	*(__u64 *)to = 0xffffffff82000000;
	return has_stack ? (long)sizeof(__u64) : -14;
}

static long bpf_get_task_stack(struct task_struct *task, void *to, __u32 length, __u64 flags)
{
	(void)task, (void)length, (void)flags;
	*(__u64 *)to = 0xffffffff81000000;
	return sizeof(__u64);
}

static __u32 bpf_get_smp_processor_id(void)
{
	return current_cpu;
}

static __u64 bpf_get_current_pid_tgid(void)
{
	return (__u64)current_task->tgid << 32 | (__u32)current_task->pid;
}

static __u64 bpf_get_current_cgroup_id(void)
{
	return 1;
}

static long bpf_get_current_comm(void *to, __u32 length)
{
	memset(to, 0, length);
	return 0;
}

static void *bpf_ringbuf_reserve(void *ring, __u64 length, __u64 flags);
static void bpf_ringbuf_discard(void *record, __u64 flags);
static long bpf_seq_write(struct seq_file *seq, const void *data, __u32 length);

#include "bpf/waits.bpf.h"
#include "bpf/wakers.bpf.h"

#define CELL_NS   10000000ull
#define N_THREADS 40
#define N_CPUS    3
#define SPARE_CPU N_CPUS /* where a thread runs in the middle of a visit */
#define SAMPLER   5
#define AHEAD_NS  77000000000ull /* CLOCK_MONOTONIC, of rq.clock */

/* What visits have printed. */
static __u8 visited[65536];
static size_t visited_length;

/* What a thread did, by its own account, of a clock's ticks. */
struct truth {
	__u64 on_cpu, blocked, runnable;
};

static long bpf_seq_write(struct seq_file *seq, const void *data, __u32 length)
{
	if (visited_length + length > sizeof(visited) || seq->count + length > seq->size)
		return -7;
	memcpy(visited + visited_length, data, length);
	visited_length += length;
	seq->count += length;
	return 0;
}

static struct thread {
	struct task_struct task;
	struct signal_struct signal;
	struct sched_entity entity;
	enum { RUNS, SLEEPS, QUEUED } state;
	__u64 since;
	struct truth truth, counted;
	__u64 waker; /* number of the record when it was woken last; 0: there was none */
	bool is_woken;
} threads[N_THREADS], idle;

static struct rq rq;
static struct cfs_rq cfs_rq = {.rq = &rq};
static struct cred cred;
static struct kernfs_node node = {.id = 1};
static struct cgroup group = {.kn = &node};
static struct css_set groups = {.dfl_cgrp = &group};
static struct wait_scratch wait_scratch_by_cpu[N_CPUS + 1], waker_scratch_by_cpu[N_CPUS + 1];
static struct wait_visit visit;
static struct abi_counters wait_counters[ABI_SAMPLERS_MAX];
static struct {
	__u32 pid;
	struct abi_wait_kept kept;
} kept_all[2 * N_THREADS], kept_second[1];
static struct {
	__u32 pid;
	struct abi_waker waker;
} woken_all[2 * N_THREADS];
static bool is_full;
static unsigned n_asked, n_sent, n_visited, n_visited_queued, n_wakers;

static void *bpf_ringbuf_reserve(void *ring, __u64 length, __u64 flags)
{
	(void)ring, (void)length, (void)flags;
	return is_full ? NULL : &n_asked;
}

static void bpf_ringbuf_discard(void *record, __u64 flags)
{
	assert_ptr_equal(record, &n_asked);
	assert_int_equal(flags, BPF_RB_FORCE_WAKEUP);
	n_asked++;
}

static void *waits_lookup(void *map, __u32 key)
{
	if (map == &counters)
		return &wait_counters[key];
	if (map == &wait_rings || map == &rings)
		return &is_full;
	if (map == &wait_visits)
		return &visit;
	if (map == &wait_memory)
		return key == 0 ? &wait_scratch_by_cpu : key == 1 ? &waker_scratch_by_cpu : NULL;
	if (map == &waits_kept)
		return key == 0 ? (void *)&kept_all : key == 1 ? &kept_second : NULL;
	if (map == &wait_woken)
		return &woken_all;
	if (map == &wait_scratch_by_cpu)
		return &wait_scratch_by_cpu[key];
	if (map == &waker_scratch_by_cpu)
		return &waker_scratch_by_cpu[key];
	if (map == &kept_all)
		for (size_t i = 0; i < ARRAY_SIZE(kept_all); i++)
			if (kept_all[i].pid == key)
				return &kept_all[i].kept;
	if (map == &woken_all)
		for (size_t i = 0; i < ARRAY_SIZE(woken_all); i++)
			if (woken_all[i].pid == key)
				return &woken_all[i].waker;
	return NULL;
}

static void run_meanwhile(__u32 pid, __u64 ran_ns);
static void begin_meanwhile(__u32 pid);

/*
 * In a visit, the next thread of which something is kept is woken and runs before, or after that;
 * or it is in the middle of the switch when the visit ends.
 */
static enum { NOT, BEFORE, AFTER, HALF_BEFORE, HALF_AFTER, N_MEANWHILE } runs_meanwhile;

static long waits_update(void *map, __u32 key, const void *value)
{
	struct abi_wait_kept *kept;
	int when = runs_meanwhile;

	if (map == &woken_all) {
		/* There is room for all of them: pids are numbers up to N_THREADS. */
		woken_all[key].pid = key;
		memcpy(&woken_all[key].waker, value, sizeof(woken_all[key].waker));
		return 0;
	}
	assert_ptr_equal(map, &kept_all);
	runs_meanwhile = NOT;
	if (when == BEFORE)
		run_meanwhile(key, 0); /* a tick on the CPU would be lost: bpf/waits.bpf.h */
	if (when == HALF_BEFORE)
		begin_meanwhile(key);
	kept = waits_lookup(map, key) ?: waits_lookup(map, 0);
	if (!kept)
		return -7;
	memcpy(kept, value, sizeof(*kept));
	for (size_t i = 0; i < ARRAY_SIZE(kept_all); i++)
		if (&kept_all[i].kept == kept)
			kept_all[i].pid = key;
	if (when == AFTER)
		run_meanwhile(key, 1 + CELL_NS / 3);
	if (when == HALF_AFTER)
		begin_meanwhile(key);
	return 0;
}

static long waits_delete(void *map, __u32 key)
{
	assert_ptr_equal(map, &kept_all);
	for (size_t i = 0; i < ARRAY_SIZE(kept_all); i++)
		if (kept_all[i].pid == key)
			kept_all[i].pid = 0;
	return 0;
}

/* --- threads ---------------------------------------------------------------------------------- */

static void thread_init(struct thread *t, int pid)
{
	*t = (struct thread){.state = SLEEPS, .since = rq.clock};
	t->task = (struct task_struct){.pid = pid,
				       .tgid = pid,
				       .flags = pid ? 0 : PF_KTHREAD,
				       .start_boottime = 1000 + (__u64)pid * 1000,
				       .group_leader = &t->task,
				       .real_parent = &t->task,
				       .real_cred = &cred,
				       .signal = &t->signal,
				       .cgroups = &groups,
				       .se.cfs_rq = &cfs_rq};
}

static void thread_becomes(struct thread *t, int state)
{
	__u64 n = wait_ticks(wait_seed(&t->task), t->since, rq.clock, CELL_NS);

	if (t->task.pid && wait_clocks[0].since_ns) {
		t->truth.on_cpu += t->state == RUNS ? n : 0;
		t->truth.blocked += t->state == SLEEPS && t->task.sched_info.last_arrival ? n : 0;
		t->truth.runnable += t->state == QUEUED ? n : 0;
	}
	t->state = state;
	t->since = rq.clock;
	t->task.__state = state == SLEEPS ? TASK_INTERRUPTIBLE : 0;
	t->task.on_cpu = state == RUNS;
}

/* As kernel/sched/stats.h has it. */
static void thread_queue(struct thread *t)
{
	thread_becomes(t, QUEUED);
	t->task.sched_info.last_queued = rq.clock;
}

/* The current thread of the current CPU wakes @t. */
static void wake_by_current(struct thread *t)
{
	unsigned long long args[] = {(uintptr_t)&t->task};

	now_ns = rq.clock + AHEAD_NS;
	wait_wakes(args);
}

static void thread_wake(struct thread *t)
{
	struct wait_scratch *w = &waker_scratch_by_cpu[current_cpu];
	__u64 before = w->n_records;

	wake_by_current(t);
	t->waker = 0;
	t->is_woken = true;
	if (w->n_records == before)
		return;
	t->waker = w->scratch.record.waker;
	n_wakers++;
	assert_int_equal(t->waker, (__u64)current_cpu << 48 | w->n_records);
	assert_int_equal(w->scratch.record.rest & ABI_WAKER, ABI_WAKER);
	assert_int_equal(w->scratch.record.tid, current_task->pid);
	assert_int_equal(w->scratch.record.sampler, SAMPLER);
	assert_int_equal(w->scratch.record.wait, WAIT_NONE);
}

static void count_sent(struct thread *next)
{
	const struct abi_sample *record = &wait_scratch_by_cpu[current_cpu].scratch.record;

	next->counted.blocked += record->n_blocked;
	next->counted.runnable += record->n_runnable;
	n_sent += (record->n_blocked != 0) + (record->n_runnable != 0);
	assert_int_equal(record->period, CELL_NS);
	assert_int_equal(record->pid, next->task.tgid);
	assert_int_equal(record->sampler, SAMPLER);
	if (!wait_clocks[0].wakers) {
		assert_int_equal(record->waker, 0);
	} else if (!next->is_woken) {
		/* What woke it before is not what did now. */
		assert_int_equal(record->waker, 0);
	} else if (record->n_blocked) {
		assert_int_not_equal(record->waker, 0);
		assert_int_equal(record->waker, next->waker);
	}
}

/* As far as the tracepoint. Returns n_asked before. */
static unsigned switch_begin(struct thread *prev, struct thread *next)
{
	unsigned long long args[] = {0, (uintptr_t)&prev->task, (uintptr_t)&next->task, 0};
	unsigned asked = n_asked;

	now_ns = rq.clock + AHEAD_NS;
	rq.curr = &next->task;
	wait_switch(args);
	return asked;
}

static void switch_end(struct thread *prev, struct thread *next, int prev_becomes, unsigned asked)
{
	unsigned long long args[] = {0, (uintptr_t)&prev->task, (uintptr_t)&next->task, 0};

	if (prev_becomes == QUEUED)
		thread_queue(prev);
	else
		thread_becomes(prev, prev_becomes);
	thread_becomes(next, RUNS);
	next->task.sched_info.last_queued = 0;
	next->task.sched_info.last_arrival = rq.clock;
	current_task = &next->task;
	if (n_asked != asked) {
		wait_take(args);
		count_sent(next);
	}
	next->is_woken = false;
}

static void switch_to(struct thread *prev, struct thread *next, int prev_becomes)
{
	switch_end(prev, next, prev_becomes, switch_begin(prev, next));
}

static void queue_meanwhile(struct thread *t)
{
	rq.clock += 1 + CELL_NS / 3;
	if (t->state != SLEEPS)
		return;
	t->is_woken = false;
	thread_queue(t);
}

static struct {
	struct thread *thread; /* NULL: none is in the middle of a switch */
	unsigned asked;
} begun;

static void begin_meanwhile(__u32 pid)
{
	__u32 cpu = current_cpu;

	current_cpu = SPARE_CPU;
	begun.thread = &threads[pid - 1];
	queue_meanwhile(begun.thread);
	begun.asked = switch_begin(&idle, begun.thread);
	current_cpu = cpu;
}

static void end_meanwhile(void)
{
	struct task_struct *task = current_task;
	__u32 cpu = current_cpu;

	if (!begun.thread)
		return;
	current_cpu = SPARE_CPU;
	switch_end(&idle, begun.thread, RUNS, begun.asked);
	rq.clock += 1 + CELL_NS / 3;
	switch_to(begun.thread, &idle, SLEEPS);
	begun.thread = NULL;
	current_cpu = cpu;
	current_task = task;
}

static void run_meanwhile(__u32 pid, __u64 ran_ns)
{
	struct thread *t = &threads[pid - 1];
	struct task_struct *task = current_task;
	__u32 cpu = current_cpu;

	current_cpu = SPARE_CPU;
	queue_meanwhile(t);
	switch_to(&idle, t, RUNS);
	rq.clock += ran_ns;
	switch_to(t, &idle, SLEEPS);
	current_cpu = cpu;
	current_task = task;
}

static void visit_thread(struct thread *t, struct seq_file *seq)
{
	struct bpf_iter_meta meta = {.seq = seq};
	struct bpf_iter__task context = {.meta = &meta, .task = &t->task};
	static struct mm_struct mm;
	bool is_queued = t->state == QUEUED, has_memory = runs_meanwhile == NOT;
	struct abi_sample record;
	__u64 leaf;

	visited_length = 0;
	seq->count = 0;
	/* Of a system call, or not. */
	entry_regs = (struct pt_regs){.ip = 0x401000,
				      .cx = 0x401000,
				      .orig_ax = t->task.pid % 2 ? 7 : -1ul};
	t->task.mm = has_memory ? &mm : NULL;
	wait_visit(&context);
	t->task.mm = NULL;
	end_meanwhile();
	if (!visited_length)
		return;
	memcpy(&record, visited, sizeof(record));
	assert_int_equal(record.tid, t->task.pid);
	assert_int_equal(record.period, CELL_NS);
	assert_int_equal(record.wait, WAIT_SLEEP);
	if (!is_queued)
		assert_int_equal(record.n_runnable, 0);
	else
		assert_int_not_equal(wait_visits_queued, 0);
	assert_int_equal(record.rest & ABI_REST, has_memory && !is_queued ? ABI_REST : 0);
	assert_int_equal(record.n_user, has_memory && is_queued);
	if (record.n_user) {
		memcpy(&leaf, visited + sizeof(record) + record.n_kernel * sizeof(leaf),
		       sizeof(leaf));
		assert_int_equal(record.quality, STACK_BROKEN);
		assert_int_equal(record.reason, BROKEN_QUEUED);
		assert_int_equal(leaf, 0x401000 - t->task.pid % 2);
	}
	assert_int_equal(visited_length,
			 sizeof(record) + (record.n_kernel + record.n_user) * sizeof(__u64) +
				 (record.rest & ABI_REST ? sizeof(struct unwind_registers) : 0));
	t->counted.blocked += record.n_blocked;
	t->counted.runnable += record.n_runnable;
	n_sent += (record.n_blocked != 0) + (record.n_runnable != 0);
	n_visited++;
	n_visited_queued += is_queued;
}

static int setup(void **state)
{
	(void)state;
	stubs_reset();
	stub_lookup = waits_lookup;
	stub_update = waits_update;
	stub_delete = waits_delete;
	memset(wait_counters, 0, sizeof(wait_counters));
	memset(kept_all, 0, sizeof(kept_all));
	memset(woken_all, 0, sizeof(woken_all));
	has_stack = true;
	memset(wait_scratch_by_cpu, 0, sizeof(wait_scratch_by_cpu));
	memset(waker_scratch_by_cpu, 0, sizeof(waker_scratch_by_cpu));
	wait_wakers = 0;
	wait_compared_at = wait_ahead_ns = 0;
	is_full = false;
	n_asked = n_sent = n_visited = n_visited_queued = n_wakers = 0;
	wait_visits_queued = 0;
	begun.thread = NULL;
	runs_meanwhile = NOT;
	waits_unkept = 0;
	rq.clock = 123456789;
	samplers[SAMPLER] = (struct abi_sampler){.all = 1, .max_depth = 10, .kernel_stacks = 1};
	for (int i = 0; i < ABI_WAIT_CLOCKS_MAX; i++)
		wait_clocks[i] = (struct abi_wait_clock){0};
	wait_clocks[0] = (struct abi_wait_clock){.cell_ns = CELL_NS, .sampler = SAMPLER};
	thread_init(&idle, 0);
	for (int i = 0; i < N_THREADS; i++)
		thread_init(&threads[i], i + 1);
	return 0;
}

#endif
