/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_RANGES_H
#define PROFD_CLIENT_SHIM_CORE_RANGES_H

/* A set of addresses, as few ranges: what compilers at run time have mapped and unmapped. Pure. */
#include <stdbool.h>
#include <stdint.h>

#define RANGES_MAX 4096

struct ranges {
	unsigned n;
	struct range {
		uint64_t start, end;
	} at[RANGES_MAX]; /* ascending, apart from each other */
};

/* Adds @start up to @end, which is above. False: there are too many, it is as it was. */
bool ranges_add(struct ranges *ranges, uint64_t start, uint64_t end);
/* Takes them out. False: there are too many, it is as it was. */
bool ranges_remove(struct ranges *ranges, uint64_t start, uint64_t end);

#endif
