/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_PERF_STACK_H
#define PROFD_INGEST_SOURCE_PERF_STACK_H

/*
 * How much of each stack the perf source's samples copy, and how large their rings are. A record
 * holds the whole size that was asked for, however short the stack is, and not more than 64 KiB
 * (kernel/events/core.c, perf_output_sample_ustack()): so the rate and the memory decide.
 *
 * And what the user side of a sample means: a stack to be walked, or why there is none. Of samples
 * without user registers only /proc/TID/stat tells whether they are of a thread of the kernel; it
 * is read once for each.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/ingest/perf_record.h"
#include "daemon/ingest/sample.h"

#define PERF_PLAN_RING_LEAST 16384u

struct perf_plan {
	size_t ring_bytes;    /* of each CPU, a power of two; 0: there is no memory for it */
	uint32_t stack_bytes; /* sample_stack_user; 0: no copies */
};

/*
 * The largest copies for which a ring of at most @most bytes holds twice what @ticks leave, which
 * is how many one CPU makes between two drains. Without room for any: no copies, and the ring that
 * fits.
 */
struct perf_plan perf_plan_make(uint64_t most, uint64_t ticks);

#define PERF_TASK_SLOTS 256

struct perf_tasks {
	int proc_fd; /* borrowed: /proc */
	struct {
		pid_t tid;
		unsigned flags;   /* the kernel's PF_* */
	} slots[PERF_TASK_SLOTS]; /* by the lower bits of tid */
};

/* A thread was born: what was known of its number is of another. */
void perf_tasks_forget(struct perf_tasks *tasks, pid_t tid);
/*
 * Fills in @sample's quality, reason, kernel_thread and rest; what rest points to is @ret_rest,
 * which borrows @p's record. @copies: the event asks for copies of stacks.
 */
void perf_tasks_judge(struct perf_tasks *tasks, const struct perf_sample *p, bool copies,
		      struct sample *sample, struct sample_rest *ret_rest);

#endif
