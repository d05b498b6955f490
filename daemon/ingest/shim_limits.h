/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SHIM_LIMITS_H
#define PROFD_INGEST_SHIM_LIMITS_H

/*
 * How much of what a process says of itself is believed. A tick of its timers stands for CPU time,
 * and the kernel counts that, too: all ticks of a process together, in samples or lost, cannot
 * stand for more CPU time than it has used since it was attached. What goes beyond counts nowhere,
 * so whatever a process writes, it weighs as much as it really ran.
 *
 * Credit that was not used is kept, as far as a tick can be late: each thread's timer has a tick
 * under way, and the kernel's own counts lag a bit. Pure.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/clock.h"

struct shim_account {
	uint64_t cpu_ns;    /* of the process, when it was looked at last */
	uint64_t credit_ns; /* that ticks may still stand for */
};

/* The process has used @cpu_ns up to now, none of it sampled. */
void shim_account_begin(struct shim_account *a, uint64_t cpu_ns);
/* It has used @cpu_ns by now; a tick stands for @tick_ns at present. */
void shim_account_look(struct shim_account *a, uint64_t cpu_ns, uint64_t tick_ns);
/* How many of @n ticks of @tick_ns (not 0) are believed: their time is taken off the credit. */
uint64_t shim_account_take(struct shim_account *a, uint64_t n, uint64_t tick_ns);

/*
 * Ticks of one rate as ticks of another: *rest_ns and @add_ns together hold so many whole periods;
 * what is left over stays in *rest_ns.
 */
uint64_t shim_account_periods(uint64_t *rest_ns, uint64_t add_ns, uint64_t period_ns);

/*
 * How often strangers may have processes attached, each by itself: what a process maps is kept for
 * a while after its end, and is memory that all share. SHIM_PACE_BURST at once, and one more every
 * SHIM_PACE_NS after that. Pure.
 */
#define SHIM_PACE_NS    (20 * NS_PER_MS)
#define SHIM_PACE_BURST 100
#define SHIM_PACE_USERS 64

struct shim_pace {
	/* Those who asked last. Until when each has used up its part, 0: nobody is there. */
	struct {
		uid_t uid;
		uint64_t until_ns;
	} users[SHIM_PACE_USERS];
};

/* Whether @uid may have another one at @now_ns (CLOCK_MONOTONIC, not 0); counts it then. */
bool shim_pace_allows(struct shim_pace *pace, uid_t uid, uint64_t now_ns);

#endif
