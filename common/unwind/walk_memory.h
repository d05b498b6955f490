/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_WALK_MEMORY_H
#define PROFD_COMMON_UNWIND_WALK_MEMORY_H

/* The memory of a walk outside of the kernel: copies of parts of the process's memory. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/unwind/rule.h"

#define UNWIND_REGIONS_MAX 8

struct unwind_region {
	uint64_t address;
	size_t length;
	const uint8_t *data;
};

struct unwind_memory {
	struct unwind_region regions[UNWIND_REGIONS_MAX];
	unsigned n_regions;
	uint64_t missing; /* the address that was asked for last in vain */
};

static inline bool unwind_read(struct unwind_memory *memory, unwind_u64 address, unwind_u64 *ret)
{
	for (unsigned i = 0; i < memory->n_regions; i++) {
		const struct unwind_region *region = &memory->regions[i];
		uint64_t at = address - region->address;

		if (region->length >= sizeof(*ret) && at <= region->length - sizeof(*ret)) {
			memcpy(ret, region->data + at, sizeof(*ret));
			return true;
		}
	}
	memory->missing = address;
	return false;
}

#endif
