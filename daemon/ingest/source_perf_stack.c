/* SPDX-License-Identifier: MIT */
/*
 * A record has a copy of the stack of fixed size, so the rings' memory decides how large that may
 * be. Whether a sample without user registers lost them is decided by the flags of its task.
 */
#include "daemon/ingest/source_perf_stack.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc.h"

#define KIB           UINT64_C(1024)
#define RING_MOST     (256 * 1024 * KIB)
#define RECORD_BYTES  512 /* besides the stack: registers, some fifty kernel frames */
#define RECORDS_LEAST 8   /* a ring for fewer loses them as soon as profd is busy elsewhere */
#define TICKS_MOST    (1 * NS_PER_MS)

static uint64_t wanted_bytes(uint64_t ticks, uint64_t stack_bytes)
{
	uint64_t records = 2 * (ticks < TICKS_MOST ? ticks : TICKS_MOST);

	if (records < RECORDS_LEAST)
		records = RECORDS_LEAST;
	return records * (RECORD_BYTES + stack_bytes);
}

struct perf_plan perf_plan_make(uint64_t most, uint64_t ticks)
{
	static const uint32_t sizes[] = {48 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 0};
	struct perf_plan plan = {0};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t wanted = wanted_bytes(ticks, sizes[i]), bytes = PERF_PLAN_RING_LEAST;

		while (bytes < wanted && bytes * 2 <= most && bytes < RING_MOST)
			bytes *= 2;
		plan = (struct perf_plan){.ring_bytes = bytes, .stack_bytes = sizes[i]};
		if (bytes >= wanted)
			break;
	}
	if (plan.ring_bytes > most)
		return (struct perf_plan){0};
	return plan;
}

/* include/linux/sched.h; /proc/PID/stat shows them. */
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000

static unsigned task_flags(struct perf_tasks *tasks, pid_t tid)
{
	unsigned slot = (unsigned)tid % PERF_TASK_SLOTS;
	struct proc_stat stat;

	if (tasks->slots[slot].tid != tid) {
		bool known = proc_read_stat(tasks->proc_fd, tid, &stat) == PROC_E_OK;

		tasks->slots[slot].tid = tid;
		tasks->slots[slot].flags = known ? stat.flags : 0;
	}
	return tasks->slots[slot].flags;
}

void perf_tasks_forget(struct perf_tasks *tasks, pid_t tid)
{
	tasks->slots[(unsigned)tid % PERF_TASK_SLOTS].tid = 0;
}

/*
 * The kernel gives the registers of each task that is not its own thread, also of one that is
 * exiting, or in the middle of exec, when they are those of the old program. In both cases the
 * memory of their stack is gone, and not one byte can be copied. Both are system calls (but for
 * a process that a signal ends outside of one), which tells them from a fault in a page that the
 * stack has just grown into: that has callers, and what was not there may be there later.
 */
static bool has_left(const struct perf_sample *p)
{
	if (p->user_mode || p->stack_length)
		return false;
	return p->registers.is_return || !perf_record_tells_calls;
}

void perf_tasks_judge(struct perf_tasks *tasks, const struct perf_sample *p, bool copies,
		      struct sample *sample, struct sample_rest *ret_rest)
{
	unsigned flags;

	sample->rest = NULL;
	sample->kernel_thread = false;
	sample->quality = STACK_COMPLETE;
	sample->reason = 0;
	if (!p->has_user) {
		flags = task_flags(tasks, p->tid);
		sample->kernel_thread = flags & PROC_STAT_KERNEL_THREAD;
		if (!(flags & (PROC_STAT_KERNEL_THREAD | PF_IO_WORKER | PF_USER_WORKER)))
			sample->quality = STACK_NO_USER;
		return;
	}
	/* A worker that the kernel made inside a process (io_uring): no user side at all. */
	if (!p->registers.pc && !p->registers.sp)
		return;
	if (copies && has_left(p)) {
		sample->quality = STACK_NO_USER;
		return;
	}
	sample->quality = STACK_BROKEN;
	if (p->stack_length)
		sample->reason = BROKEN_UNKNOWN;
	else
		sample->reason = copies ? BROKEN_UNREADABLE : BROKEN_NO_COPY;
	*ret_rest = (struct sample_rest){
		.registers = p->registers,
		.stack_address = p->registers.sp,
		.stack_length = p->stack_length,
		.stack = p->stack,
	};
	sample->rest = ret_rest;
}
