/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_PERF_USER_H
#define PROFD_INGEST_SOURCE_PERF_USER_H

/*
 * What the user side of a perf sample means: a stack to be walked, or why there is none. Of samples
 * without user registers only /proc/TID/stat tells whether they are of a thread of the kernel; it
 * is read once for each.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "daemon/ingest/perf_record.h"
#include "daemon/ingest/sample.h"

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
