/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_MEMORY_H
#define PROFD_PROFCTL_MEMORY_H

/*
 * A bound on our own data while strangers' bytes are unpacked: what a profile takes in memory
 * cannot be told from its size. Programs that are started inherit it.
 */
#include <errno.h>
#include <sys/resource.h>

#include "client/profctl/profctl.h"
#include "common/error.h"
#include "common/sanitized.h"

#define MEMORY_BOUND ((rlim_t)896 << 20)

/* From then on, until it is set to *@ret again; where sanitizers are at work, nothing. */
static inline void memory_bound(struct rlimit *ret)
{
	struct rlimit limit;

	getrlimit(RLIMIT_DATA, ret);
	limit = *ret;
	if (!IS_SANITIZED && limit.rlim_cur > MEMORY_BOUND)
		limit.rlim_cur = MEMORY_BOUND;
	setrlimit(RLIMIT_DATA, &limit);
}

/* Of a negative errno. Returns the exit status. */
static inline int memory_complain(const struct context *context, int error)
{
	if (error == -ENOMEM)
		return profctl_complain(context, STATUS_FAILED,
					"out of memory: the limit is %zu MiB", MEMORY_BOUND >> 20);
	return profctl_complain(context, STATUS_FAILED, "%s", error_describe(error));
}

static inline void memory_unboundp(const struct rlimit *before)
{
	setrlimit(RLIMIT_DATA, before);
}

#endif
