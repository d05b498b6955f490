/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_CPUPROFILE_H
#define PROFD_OUTPUT_CPUPROFILE_H

/*
 * The legacy profiles of a service's part of a snapshot: one for each process and generation of
 * its mappings, of user frames only. (A generation is what one set of map lines is true for.)
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/context.h"
#include "daemon/output/view.h"

/* One file to be. */
struct legacy_part {
	size_t first, n;          /* of the view's entries: one process, one generation */
	uint64_t samples;         /* with user frames; > 0 */
	uint64_t process_samples; /* of all parts of the process; where there is a limit */
};

struct legacy_plan {
	struct legacy_part *parts;
	size_t n_parts;
};

/*
 * Chooses the @max_processes processes with the most samples (0: all of them). @ret: all zero;
 * legacy_plan_deinit() frees, also after an error.
 */
int legacy_plan(const struct view *view, const struct view_group *group, uint32_t max_processes,
		struct legacy_plan *ret);
void legacy_plan_deinit(struct legacy_plan *plan);

/* Encodes one part; *ret malloc'ed, the caller's. Returns 0 or negative errno. */
int output_cpuprofile(const struct context *c, const struct view *view,
		      const struct legacy_part *part, uint8_t **ret, size_t *ret_length);

#endif
