/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_MEMORY_H
#define PROFD_PROFCTL_MEMORY_H

/*
 * A bound on our own data while strangers' bytes are unpacked: what a profile takes in memory
 * cannot be told from its size. Programs that are started inherit it.
 */
#include <sys/resource.h>

#define MEMORY_BOUND ((rlim_t)896 << 20)

/* From then on, until it is set to *@ret again; where sanitizers are at work, nothing. */
void memory_bound(struct rlimit *ret);
void memory_unboundp(const struct rlimit *before);

#endif
