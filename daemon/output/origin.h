/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_ORIGIN_H
#define PROFD_OUTPUT_ORIGIN_H

/* Which machine a store is of, as the comments of its newest window have it (context.h). */
#include <stddef.h>
#include <stdint.h>

#include "daemon/output/store.h"

#define ORIGIN_TEXT_MAX 64u

struct origin {
	char host[ORIGIN_TEXT_MAX + 1], kernel[ORIGIN_TEXT_MAX + 1]; /* "": unknown */
	uint32_t n_cpus;                                             /* 0: unknown */
};

/* @max_bytes: as for stored_open(). What is not found is unknown. Returns 0 or -ENOMEM. */
int origin_find(struct origin *ret, struct store *store, size_t max_bytes);

#endif
