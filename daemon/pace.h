/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_PACE_H
#define PROFD_DAEMON_PACE_H

/*
 * What profd itself takes of the machine, and how sampling keeps to what it may take. Of the main
 * thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/control/control.h"
#include "daemon/limiter.h"

struct daemon;
struct source_stats;
struct unwinder_stats;

/* What profd itself costs. */
struct daemon_pace {
	struct limiter limiter;
	uint64_t measured_ns;         /* CLOCK_MONOTONIC; 0: not yet */
	double used_seconds[N_COSTS]; /* of CPU time, up to then */
	double share;                 /* of the machine, in the last measurement */
	uint64_t window_ns;           /* CLOCK_MONOTONIC; the end of the last window */
	double windows_seconds;       /* of CPU time for writing windows, up to then */
	double windows_share;         /* that of the last window */
	uint64_t n_samples[N_TIERS];  /* up to then */
	/* Measurements in a row in which it was too much, and none of sampling's fault. */
	unsigned n_dear;
	char dear[160]; /* a line on that; "": it is not so */
};

/*
 * Measures profd's own share and lets sampling slow down; called at windows' ends and once
 * a second. Returns 0 or negative errno.
 */
int daemon_pace(struct daemon *d, bool is_window_end);
/* Another limit or rate is configured: sampling is as fast as it says until that is measured. */
int daemon_pace_restart(struct daemon *d);

/* The rate in force of what is configured, Hz. */
uint64_t daemon_rate(const struct daemon *d);
/* What profd has used up to now, and on what. */
void daemon_used_cpu(const struct daemon *d, const struct source_stats *source,
		     const struct unwinder_stats *unwinder, Profd__Control__Cpu *ret);
/*
 * Seconds, user and system, of all that descend from this process (helper/descendants.h), whether
 * they live or were waited for.
 */
double pace_children_seconds(void);

#endif
