/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_ITIMER_H
#define PROFD_CLIENT_SHIM_CORE_ITIMER_H

/*
 * Where threads may not have timers of their own (a seccomp filter that refuses timer_create(2)):
 * the process's one, setitimer(2) of ITIMER_PROF. The kernel gives its signal, SIGPROF, to any
 * thread, mostly the one that runs as it is due: sums are right, shares are rough.
 *
 * The signal does not say how often the timer ran out since the last one. The process's clock does.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct itimer {
	bool is_on;
	_Atomic uint32_t frequency; /* 0: it does not run */
	_Atomic uint64_t told_ns;   /* of the process's CPU time */
};

/* False: the program has set that timer for itself, or may not. */
bool itimer_start(struct itimer *itimer, uint32_t frequency);
/* It runs at @frequency from now on; 0: not at all. Async-signal-safe. */
void itimer_retime(struct itimer *itimer, uint32_t frequency);
void itimer_stop(struct itimer *itimer);
/* How many periods have passed since it was asked last. Async-signal-safe. */
uint32_t itimer_take(struct itimer *itimer);

#endif
