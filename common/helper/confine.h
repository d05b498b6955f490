/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELPER_CONFINE_H
#define PROFD_COMMON_HELPER_CONFINE_H

/*
 * Leaves a process only the system calls that it needs (seccomp(2)), by a table. What is compiled
 * beforehand can be entered right after a fork, where nothing may be allocated.
 */
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

#define CONFINE_CONDITIONS_MAX 2

/* A system call that is allowed if all its conditions hold (seccomp_rule_add(3)). */
struct confine_call {
	int number;
	unsigned n_conditions;
	struct scmp_arg_cmp conditions[CONFINE_CONDITIONS_MAX];
	uint32_t instead; /* 0: allowed; else what happens in place of it: SCMP_ACT_ERRNO() ... */
};

/* In a table: with any arguments, with conditions on them, or refused with an errno. */
#define CONFINE_ANY(name)                \
	{                                \
		SCMP_SYS(name), 0, {}, 0 \
	}
#define CONFINE_IF(name, ...)                       \
	{                                           \
		SCMP_SYS(name), 1, {__VA_ARGS__}, 0 \
	}
#define CONFINE_IF_BOTH(name, ...)                  \
	{                                           \
		SCMP_SYS(name), 2, {__VA_ARGS__}, 0 \
	}
#define CONFINE_REFUSE(name, e)                          \
	{                                                \
		SCMP_SYS(name), 0, {}, SCMP_ACT_ERRNO(e) \
	}
/* Conditions: argument @n is @value, is at least that, or has exactly the bits @set of @mask. */
#define CONFINE_IS(n, value)       SCMP_CMP64(n, SCMP_CMP_EQ, value, 0)
#define CONFINE_AT_LEAST(n, value) SCMP_CMP64(n, SCMP_CMP_GE, value, 0)
#define CONFINE_BITS(n, mask, set) SCMP_CMP64(n, SCMP_CMP_MASKED_EQ, mask, set)

struct confine_table {
	const struct confine_call *calls;
	size_t n;
};

struct confine_filter; /* compiled */

/*
 * @otherwise: what happens at a call that is in none of the @n tables (SCMP_ACT_*). Another
 * architecture's calls (x32, i386) end the process. In a build with sanitizers, what these call is
 * allowed as well. With SCMP_ACT_ALLOW the tables hold what is refused. Of a kernel that has no
 * filters, one that cannot be entered. Returns 0 or negative errno.
 */
int confine_compile(struct confine_filter **ret, const struct confine_table *tables, size_t n,
		    uint32_t otherwise);
void confine_filter_free(struct confine_filter *filter);
DEFINE_CLEANUP(struct confine_filter *, confine_filter_free)
/*
 * For the calling process, for good; its children too. No new privileges are to be had from then
 * on. Async-signal-safe. Returns 0 or negative errno: -ENOSYS of a kernel that cannot.
 */
int confine_enter(const struct confine_filter *filter);
/* False: of a kernel that cannot. */
bool confine_is_available(void);

#endif
