/* SPDX-License-Identifier: MIT */
#include "client/profctl/memory.h"

/* Sanitizers map more than any limit of ours. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

void memory_bound(struct rlimit *ret)
{
	struct rlimit limit;

	getrlimit(RLIMIT_DATA, ret);
	limit = *ret;
	if (!IS_SANITIZED && limit.rlim_cur > MEMORY_BOUND)
		limit.rlim_cur = MEMORY_BOUND;
	setrlimit(RLIMIT_DATA, &limit);
}

void memory_unboundp(const struct rlimit *before)
{
	setrlimit(RLIMIT_DATA, before);
}
