/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_CPUPROFILE_H
#define PROFD_OUTPUT_CPUPROFILE_H

/* The legacy profiles of a service's part of a snapshot: one for each process, of user frames only.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/context.h"
#include "daemon/output/view.h"

/* One file to be. */
struct legacy_process {
	struct view_group group; /* its entries */
	uint64_t samples;        /* with user frames; > 0 */
};

struct legacy_plan {
	struct legacy_process *all;
	size_t n, capacity;
};

/*
 * Chooses the @max_processes processes with the most samples (0: all of them). @ret: all zero;
 * legacy_plan_deinit() frees, also after an error.
 */
int legacy_plan(const struct view *view, const struct view_group *group, uint32_t max_processes,
		struct legacy_plan *ret);
void legacy_plan_deinit(struct legacy_plan *plan);

/* Encodes one; *ret malloc'ed, the caller's. Returns 0 or negative errno. */
int output_cpuprofile(const struct context *c, const struct view *view,
		      const struct legacy_process *process, uint8_t **ret, size_t *ret_length);

#endif
