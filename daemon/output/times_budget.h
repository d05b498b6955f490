/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_TIMES_BUDGET_H
#define PROFD_OUTPUT_TIMES_BUDGET_H

/*
 * A bound for the disk space that times of samples take, whatever is sampled: 5 bits for each
 * sample that all CPUs together could have had in the window. That is 86 MB a day for 16 CPUs at 99
 * Hz. Services share it by their samples; what one leaves is for those that are written after it.
 * Where the times of a profile would take more, its buckets are made coarser.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile.h"
#include "daemon/output/snapshot.h"

struct times_budget {
	uint64_t bytes, shares; /* still to be given to profiles */
};

/* @n_cpus: 0: unknown; @n_groups: profiles. */
void times_budget_init(struct times_budget *b, const struct snapshot *s, uint32_t n_cpus,
		       size_t n_groups);
/* For each profile, before it is written. 0 or negative errno. */
int times_budget_apply(struct times_budget *b, struct profile *p);

#endif
