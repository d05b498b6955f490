/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_SAMPLE_BPF_H
#define PROFD_BPF_SAMPLE_BPF_H

/*
 * One sample of the current task, whatever made it due: filters, takes the kernel's stack with the
 * kernel's unwinder and the user's with its own, and sends one record of just the needed length to
 * the sampler's ring buffer; where its own walk could not be finished, with what profd needs to do
 * it. Whatever keeps a cause from becoming a record is counted.
 */
#include "bpf/abi.h"

#include "bpf/filter.bpf.h"
#include "bpf/owner.bpf.h"
#include "bpf/rest.bpf.h"
#include "bpf/unwind.bpf.h"

/* In .bss, which profd maps. */
volatile struct abi_sampler samplers[ABI_SAMPLERS_MAX];

/*
 * The index is checked anew for each use: the verifier forgets what it knew of it where the
 * compiler keeps it on the stack (Linux 6.1).
 */
static __always_inline const volatile struct abi_sampler *config_of(__u32 sampler)
{
	__asm__ volatile("" : "+r"(sampler));
	return &samplers[sampler & (ABI_SAMPLERS_MAX - 1)];
}

/* Every so many complete walks bring along what repeats them; 0: none do. */
const volatile __u32 witness_one_in;

/*
 * One set per sampler and CPU. A perf_event program never nests in another on the same CPU (the
 * kernel skips the inner one, see bpf_prog_active in kernel/events/core.c), so plain increments are
 * exact.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_SAMPLERS_MAX);
	__type(key, __u32);
	__type(value, struct abi_counters);
} counters SEC(".maps");

/* By CPU. (A value of a per-CPU map may not be so large.) profd sets the number of entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* The ring of each sampler, while it runs. Their sizes differ. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ABI_SAMPLERS_MAX);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* Why a sample is due on this CPU, and what the program that was called then knows of it. */
struct cause {
	__u32 sampler;
	__u64 weight;
	void *context; /* the program's own, for bpf_get_stack() */
	bool user;     /* the task was interrupted in user mode: */
	const struct context_registers *user_regs;
	__u64 kernel_pc; /* else where the kernel is */
};

/* The kernel's part of the stack, leaf first. Returns how many frames it has. */
static __always_inline __u32 copy_kernel_stack(const struct cause *cause, struct scratch *s)
{
	long length = bpf_get_stack(cause->context, s->body, ABI_KERNEL_FRAMES_MAX * sizeof(__u64),
				    0);

	if (length >= (long)sizeof(__u64))
		return (__u64)length / sizeof(__u64);
	/* The unwinder's buffers are in use (nested interrupts): the leaf is known anyway. */
	s->body[0] = cause->kernel_pc;
	return 1;
}

static __always_inline void sample_fill_header(struct abi_sample *record, struct task_struct *task,
					       __u64 ids, const struct cause *cause)
{
	record->time_ns = bpf_ktime_get_ns();
	record->period = cause->weight;
	record->start_ns = task->group_leader->start_boottime;
	record->cgroup_id = bpf_get_current_cgroup_id();
	record->pid = ids >> 32;
	record->tid = (__u32)ids;
	record->cpu = bpf_get_smp_processor_id();
	record->sampler = cause->sampler;
	record->owner = owner_read(task, &record->uid);
	record->rest = task->flags & PF_KTHREAD ? ABI_KERNEL_THREAD : 0;
	record->n_blocked = 0;
	record->n_runnable = 0;
	record->wait = WAIT_NONE;
	record->call = WAIT_NO_CALL;
	record->copy_bytes = 0;
	record->waker = 0;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
}

static __always_inline bool is_cross_check_due(struct scratch *s)
{
	const struct unwind *u = &s->unwind;

	return witness_one_in && u->quality == STACK_COMPLETE && u->has_root && u->n &&
	       ++s->n_complete % witness_one_in == 0;
}

/*
 * What follows the frames, if anything does: returns its length. @used: bytes that wait in the
 * ring.
 */
static __always_inline __u64 sample_append_rest(struct scratch *s, struct task_struct *task,
						const struct cause *cause, __u64 ring_bytes,
						__u64 used)
{
	struct unwind *u = &s->unwind;
	__u8 flags = 0;
	__u32 room;

	if (!u->unfinished) {
		if (!is_cross_check_due(s) ||
		    !unwind_take_leaf(u, task, cause->user_regs, cause->user))
			return 0;
		flags = ABI_WITNESS;
	}
	room = rest_room(ring_bytes, used);
	if (!room) {
		if (flags)
			return 0;
		s->record.reason = BROKEN_NO_COPY;
	}
	return rest_take(s, flags, room);
}

/*
 * Puts an interpreter's frames behind @length bytes of body. Returns how long it is then. A
 * function by itself, so that what is checked stays in its register (Linux 6.1).
 */
static __noinline __u64 sample_append_runtime(struct scratch *s, __u64 length)
{
	__u64 n = s->runtime.n * sizeof(struct abi_runtime_entry);

	s->record.n_runtime = 0;
	__asm__ volatile("" : "+r"(n));
	__asm__ volatile("" : "+r"(length));
	if (!n || n > RUNTIME_BYTES || length > BODY_BYTES - RUNTIME_BYTES ||
	    bpf_probe_read_kernel((char *)s->body + length, n, s->runtime.entries))
		return length;
	s->record.n_runtime = s->runtime.n;
	if (s->runtime.is_cut)
		s->record.rest |= ABI_CUT;
	return length + n;
}

/* How many samples the record is: profd makes two of a wait that has both. */
static __always_inline __u32 sample_count(const struct abi_sample *record)
{
	return record->n_blocked && record->n_runnable ? 2 : 1;
}

static __always_inline void sample_send(struct scratch *s, void *ring, __u64 n_bytes, __u64 flags,
					struct abi_counters *c)
{
	__asm__ volatile("" : "+r"(n_bytes));
	if (n_bytes > BODY_BYTES)
		n_bytes = BODY_BYTES;
	if (bpf_ringbuf_output(ring, &s->record, sizeof(s->record) + n_bytes, flags))
		c->lost[LOST_RING_FULL] += sample_count(&s->record);
}

/* The user's part of the stack. */
static __always_inline void sample_walk(struct scratch *s, struct task_struct *task,
					const struct cause *cause, __u32 max_depth)
{
	struct unwind *u = &s->unwind;

	u->view.now_s = s->record.time_ns / 1000000000;
	unwind_user(s, task, cause->user_regs, cause->user, s->record.n_kernel, max_depth);
	s->record.n_user = u->n;
	s->record.quality = u->quality;
	s->record.reason = u->reason;
	s->record.walked_until_ns = u->has_root ? u->view.root.until_ns : 0;
}

/*
 * The user's part of the stack, what is left of it to do, and off it goes. Returns how long the
 * body is.
 */
static __always_inline __u64 walk_and_send(struct scratch *s, struct task_struct *task,
					   const struct cause *cause, struct abi_counters *c)
{
	__u32 sampler = cause->sampler;
	const volatile struct abi_sampler *config = config_of(sampler);
	struct unwind *u = &s->unwind;
	void *ring = bpf_map_lookup_elem(&rings, &sampler);
	__u64 ring_bytes = config->ring_bytes, used, length;
	__u32 max_depth = config->max_depth;
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (!ring) {
		c->lost[LOST_RING_FULL] += sample_count(&s->record);
		return 0;
	}
	sample_walk(s, task, cause, max_depth);
	used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	length = 8 * (u->first + u->n) + sample_append_rest(s, task, cause, ring_bytes, used);
	length = sample_append_runtime(s, length);
	if (used >= ring_bytes / 2 ||
	    (u->unfinished && rest_wakes(u, s->record.pid, s->record.time_ns)))
		flags = BPF_RB_FORCE_WAKEUP;
	sample_send(s, ring, length, flags, c);
	return length;
}

/* Filters, takes the stacks, and sends the record. */
static __always_inline void sample_take(const struct cause *cause)
{
	__u32 sampler = cause->sampler, cpu = bpf_get_smp_processor_id();
	struct abi_counters *c = bpf_map_lookup_elem(&counters, &sampler);
	struct task_struct *task;
	struct scratch *s;
	__u64 ids;

	if (!c) /* cannot be; it would show as skipped, as nothing is counted */
		return;
	c->runs++;
	if (!filter_tick(config_of(sampler), sampler, cause->user, c, &ids))
		return;
	s = bpf_map_lookup_elem(&scratches, &cpu);
	if (!s) {
		c->lost[LOST_SCRATCH]++;
		return;
	}
	task = bpf_get_current_task_btf();
	sample_fill_header(&s->record, task, ids, cause);
	s->record.n_kernel = 0;
	if (!cause->user && config_of(sampler)->kernel_stacks)
		s->record.n_kernel = copy_kernel_stack(cause, s);
	walk_and_send(s, task, cause, c);
	c->run_ns += bpf_ktime_get_ns() - s->record.time_ns;
}

#endif
