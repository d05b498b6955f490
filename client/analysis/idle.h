/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_IDLE_H
#define PROFD_CLIENT_ANALYSIS_IDLE_H

/*
 * The waiting time of idle threads, those that only wait for work. The rule, as in profctl(1):
 *
 *	A thread is idle if in the whole profile it has no CPU time, and waits at one place only
 *	(its eight innermost user frames), for events (idle_calls in idle.c) or on a condition
 *	variable. A thread of Go's runtime is idle while it has no goroutine.
 *
 * Threads are distinguished by the labels pid, tid and thread. Threads with the same labels count
 * as one; samples with none of these labels are never idle. Time in which a thread waits for a CPU
 * (state runnable) is never idle, nor is waiting for disks, locks, pipes, children or a sleep. If
 * only idle threads waited, nothing is hidden.
 *
 *	idle_new()
 *	for each batch of all samples: idle_learn()
 *	idle_decide()
 *	idle_is(), for view_feed.is_left_out
 *
 * Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct idle;
struct profile;

/* What is hidden. */
struct idle_sum {
	int64_t ns;
	size_t n_threads;
	bool is_at_least; /* not all of them have a tid: there may be more */
};

/* 0 or negative errno. */
int idle_new(struct idle **ret);
void idle_free(struct idle *idle);
DEFINE_CLEANUP(struct idle *, idle_free)
/* Whether @p has waiting time at all: else there is nothing to learn. */
bool idle_may_be(const struct profile *p);
/* Learns from the samples of @p, always the same profile. May add strings. 0 or negative errno. */
int idle_learn(struct idle *idle, struct profile *p);
void idle_decide(struct idle *idle);
/* Whether @sample is hidden. @idle is a struct idle after idle_decide(). */
bool idle_is(void *idle, const struct profile *p, size_t sample);
struct idle_sum idle_sum(const struct idle *idle);
/* "Idle: 123.4s of 40 threads hidden; --idle shows them", or "" if none is. */
#define IDLE_NOTE_MAX 120
const char *idle_note(const struct idle *idle, char ret[IDLE_NOTE_MAX]);

#endif
