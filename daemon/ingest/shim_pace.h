/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SHIM_PACE_H
#define PROFD_INGEST_SHIM_PACE_H

/*
 * How often strangers may have processes attached, each by itself: what a process maps is kept for
 * a while after its end, and is memory that all share. SHIM_PACE_BURST at once, and one more every
 * SHIM_PACE_NS after that. Pure.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/clock.h"

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
