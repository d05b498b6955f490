/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_CPU_CAUSES_H
#define PROFD_INGEST_CPU_CAUSES_H

/*
 * What a thread's CPU time is spent on. At any moment it works for one cause, and who begins work
 * for another one switches, and back when that is done: such parts may be nested. Each switch is a
 * system call, so switch for batches, not for records.
 */
#include "common/clock.h"

enum cpu_cause {
	CPU_CONTROL,  /* and all that is none of the others */
	CPU_SAMPLING, /* goes with the number of samples */
	CPU_EVENTS,   /* goes with what processes do: forks, mappings, names */
	N_CPU_CAUSES,
};

/* Zeroes: a thread that begins. */
struct cpu_causes {
	enum cpu_cause now;
	uint64_t since_ns; /* CLOCK_THREAD_CPUTIME_ID */
	uint64_t ns[N_CPU_CAUSES];
};

/* Returns the cause until now. @c: the calling thread's; NULL: nobody wants to know. */
static inline enum cpu_cause cpu_causes_switch(struct cpu_causes *c, enum cpu_cause to)
{
	enum cpu_cause before = c ? c->now : CPU_CONTROL;
	uint64_t now_ns;

	if (!c || to == before)
		return before;
	now_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	c->ns[before] += now_ns - c->since_ns;
	c->since_ns = now_ns;
	c->now = to;
	return before;
}

#endif
