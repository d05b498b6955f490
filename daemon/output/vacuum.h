/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_VACUUM_H
#define PROFD_OUTPUT_VACUUM_H

/* Deleting by limits that a user asks for, at once, or finding out what that would free. */
#include <stdint.h>

#include "daemon/output/retention.h"
#include "daemon/output/store.h"

struct vacuum {
	uint64_t bytes, files; /* freed, or to be freed */
};

/* With limits->is_dry_run @store stays as it is. @now_s: Unix time. Returns 0 or negative errno. */
int store_vacuum(struct store *store, const struct retention_limits *limits, uint64_t now_s,
		 struct vacuum *ret);

#endif
