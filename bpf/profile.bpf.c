/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The programs that the kernel calls: those of the causes of samples (the tick of a perf event, of
 * which each sampler has one per CPU, its attach cookie the sampler's index; and the scheduler:
 * bpf/waits.bpf.h), and those that follow the lives of processes, for the filter, the roots and
 * profd.
 */
#include "bpf/abi.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/cpu_clock.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/lives.bpf.h"
#include "bpf/pids.bpf.h"
#include "bpf/roots.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/waits.bpf.h"
#include "bpf/wakers.bpf.h"

char LICENSE[] SEC("license")
= "Dual MIT/GPL";

/* Returns 0: the kernel then writes no sample of its own (kernel/events/core.c). */
SEC("perf_event")
int profile_tick(struct bpf_perf_event_data *ctx)
{
	__u32 sampler = bpf_get_attach_cookie(ctx) & (ABI_SAMPLERS_MAX - 1);
	struct abi_counters *c = bpf_map_lookup_elem(&counters, &sampler);
	struct cause cause = {
		.sampler = sampler,
		.context = ctx,
		.user = REGISTER_USER(&ctx->regs),
		.user_regs = &ctx->regs,
		.kernel_pc = REGISTER_PC(&ctx->regs),
	};

	if (!c) /* cannot be */
		return 0;
	cause.weight = cpu_clock_advance(c, sampler, ctx->sample_period,
					 config_of(sampler)->cell_ns);
	if (cause.weight)
		sample_take(&cause);
	return 0;
}

static __always_inline void process_forget(struct task_struct *task, __u32 pid)
{
	filter_free(task, pid);
	roots_free(task, pid);
}

/* Arguments of the tracepoint: parent, child (include/trace/events/sched.h). */
SEC("tp_btf/sched_process_fork")
int process_fork(unsigned long long *args)
{
	struct task_struct *parent = (void *)args[0];
	struct task_struct *child = (void *)args[1];

	__u32 pid = pids_first(child), parent_pid = pids_process(parent);

	if (!pid)
		return 0;
	filter_fork(parent_pid, pid, child->start_boottime);
	roots_fork(parent_pid, pid, child->start_boottime);
	lives_fork(parent, child, pid);
	return 0;
}

/* Arguments: the task, its former pid, the program. */
SEC("tp_btf/sched_process_exec")
int process_exec(unsigned long long *args)
{
	struct task_struct *task = (void *)args[0];
	__u32 pid = pids_process(task);

	if (!pid)
		return 0;
	roots_exec(pid);
	lives_exec(task, pid);
	return 0;
}

/* Argument: the thread, in the middle of exiting; no other is alive when it is the last one. */
SEC("tp_btf/sched_process_exit")
int process_exit(unsigned long long *args)
{
	struct task_struct *task = (void *)args[0];
	__u32 pid = task->signal->live.counter ? 0 : pids_process(task);

	if (!pid)
		return 0;
	if (!pids_end(task, pid))
		process_forget(task, pid);
	lives_end(pid);
	return 0;
}

/* Arguments: the group, its path, the task (include/trace/events/cgroup.h). */
SEC("tp_btf/cgroup_attach_task")
int process_move(unsigned long long *args)
{
	struct task_struct *task = (void *)args[2];
	__u32 pid = pids_process(task);

	if (pid)
		lives_move(task, pid);
	return 0;
}

/* Argument: the task, after its last reference that can run is gone. */
SEC("tp_btf/sched_process_free")
int process_free(unsigned long long *args)
{
	struct task_struct *task = (void *)args[0];
	__u32 pid = pids_freed(task);

	if (pid)
		process_forget(task, pid);
	return 0;
}

/* profd runs it once, where pids are translated. */
SEC("raw_tp")
int find_namespace(void *context)
{
	(void)context;
	pids_find();
	return 0;
}
