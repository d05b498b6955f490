/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_USAGE_H
#define PROFD_OUTPUT_USAGE_H

/*
 * The CPU time of services by steps of a range, from the index: what a window holds is spread
 * evenly over its time. Of a file of a day, its hours are, as far as they are known. What is lost
 * by that is shown by the busiest second of each step.
 */
#include <stdint.h>

#include "common/cleanup.h"
#include "control.pb-c.h"

#define USAGE_STEPS_MAX 600u
#define USAGE_LIMIT_MAX 60u

struct snapshot;
struct store;

struct usage_options {
	uint64_t since_ns, until_ns; /* Unix time; since 0: when the store begins */
	uint32_t steps, limit;       /* at most the above */
	const char *text;            /* only services whose name has it; NULL: all */
	const struct snapshot *open; /* the open window of the system session, or NULL */
};

/* May read files as listing_new() does. 0 or negative errno. */
int usage_new(Profd__Control__UsageTable **ret, struct store *store,
	      const struct usage_options *options);
/* Takes NULL. */
void usage_free(Profd__Control__UsageTable *table);
DEFINE_CLEANUP(Profd__Control__UsageTable *, usage_free)

#endif
