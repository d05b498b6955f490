/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One tick of one sampler on one CPU. The program hangs on a perf event per CPU and sampler; its
 * attach cookie is the sampler's index. It filters, takes the kernel's stack with the kernel's
 * unwinder and the user's with its own, and sends one record of just the needed length to the
 * sampler's ring buffer. Whatever keeps a tick from becoming a record is counted.
 *
 * It returns 0: the kernel then writes no sample of its own (kernel/events/core.c).
 */
#include "bpf/abi.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/filter.bpf.h"
#include "bpf/stats.bpf.h"
#include "bpf/unwind.bpf.h"

char LICENSE[] SEC("license")
= "Dual MIT/GPL";

/* In .bss, which profd maps. */
volatile struct abi_sampler samplers[ABI_SAMPLERS_MAX];

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
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

/* The kernel's part of the stack, leaf first. Returns how many frames it has. */
static __always_inline __u32 take_kernel_stack(struct bpf_perf_event_data *ctx, struct scratch *s,
					       struct abi_counters *c)
{
	long length = bpf_get_stack(ctx, s->frames, ABI_KERNEL_FRAMES_MAX * sizeof(__u64), 0);

	if (length >= (long)sizeof(__u64))
		return (__u64)length / sizeof(__u64);
	/* The unwinder's buffers are in use (nested interrupts): the leaf is known anyway. */
	c->kernel_failed++;
	s->frames[0] = REGISTER_PC(&ctx->regs);
	return 1;
}

static __always_inline void fill_head(struct abi_sample *record, struct task_struct *task,
				      struct bpf_perf_event_data *ctx, __u32 sampler)
{
	__u64 ids = bpf_get_current_pid_tgid();

	record->time_ns = bpf_ktime_get_ns();
	record->period = ctx->sample_period;
	record->start_ns = task->group_leader->start_boottime;
	record->cgroup_id = bpf_get_current_cgroup_id();
	record->pid = ids >> 32;
	record->tid = (__u32)ids;
	record->cpu = bpf_get_smp_processor_id();
	record->sampler = sampler;
	record->kernel_thread = !!(task->flags & PF_KTHREAD);
	record->reserved = 0;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
}

static __always_inline void send(struct scratch *s, __u32 sampler, __u64 wakeup_bytes,
				 struct abi_counters *c)
{
	__u64 n = s->record.n_kernel + s->record.n_user;
	__u64 flags = BPF_RB_NO_WAKEUP;
	void *ring = bpf_map_lookup_elem(&rings, &sampler);

	if (!ring) {
		c->lost[LOST_RING_FULL]++;
		return;
	}
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	__asm__ volatile("" : "+r"(n));
	if (n > ABI_FRAMES_MAX)
		n = ABI_FRAMES_MAX;
	if (bpf_ringbuf_output(ring, &s->record, sizeof(s->record) + n * sizeof(__u64), flags))
		c->lost[LOST_RING_FULL]++;
}

/*
 * The timer of a halted virtual CPU comes late, and ticks that fell due meanwhile never come. Those
 * between two idle ones met an idle CPU, as far as anybody can tell: they are counted as idle, not
 * left to look like skipped. An eighth of a period of jitter is allowed for.
 */
static __always_inline void count_idle_gap(const volatile struct abi_sampler *config, bool idle,
					   struct abi_counters *c)
{
	__u64 period = config->clock_period, now, n;

	if (!period)
		return;
	now = bpf_ktime_get_ns();
	if (idle && c->last_idle_ns) {
		n = (now - c->last_idle_ns + period / 8) / period;
		/* Longer: the CPU was offline, and so was its event. */
		if (n > 1 && n <= 16 + 1000000000 / period) {
			c->runs += n - 1;
			c->idle += n - 1;
			c->period_sum += (n - 1) * period;
		}
	}
	c->last_idle_ns = idle ? now : 0;
}

SEC("perf_event")
int profile_tick(struct bpf_perf_event_data *ctx)
{
	__u32 sampler = bpf_get_attach_cookie(ctx) & (ABI_SAMPLERS_MAX - 1);
	const volatile struct abi_sampler *config = &samplers[sampler];
	bool user = REGISTER_USER(&ctx->regs);
	struct abi_counters *c;
	struct task_struct *task;
	struct scratch *s;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counters, &sampler);
	if (!c) /* cannot be; it would show as skipped, as the period is not summed up */
		return 0;
	c->runs++;
	c->period_sum += ctx->sample_period;
	count_idle_gap(config, !bpf_get_current_pid_tgid(), c);
	if (!filter_tick(config, sampler, user, c))
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s) {
		c->lost[LOST_SCRATCH]++;
		return 0;
	}
	task = bpf_get_current_task_btf();
	fill_head(&s->record, task, ctx, sampler);
	s->record.n_kernel = !user && config->kernel_stacks ? take_kernel_stack(ctx, s, c) : 0;
	unwind_user(s, task, ctx, user, s->record.n_kernel, config->max_depth);
	s->record.n_user = s->unwind.n;
	s->record.quality = s->unwind.quality;
	s->record.reason = s->unwind.reason;
	send(s, sampler, config->wakeup_bytes, c);
	return 0;
}
