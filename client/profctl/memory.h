/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_MEMORY_H
#define PROFD_PROFCTL_MEMORY_H

/*
 * A bound on our own data while strangers' bytes are unpacked: what a profile takes in memory
 * cannot be told from its size. Programs that are started inherit it.
 */
#include <sys/resource.h>

#define MEMORY_BOUND ((rlim_t)896 << 20)

struct memory_bound {
	struct rlimit before;
};

/* From then on, until it is taken back; where sanitizers are at work, nothing. */
void memory_bound(struct memory_bound *ret);
void memory_unboundp(const struct memory_bound *bound);

#endif
