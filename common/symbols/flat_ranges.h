/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SYMBOLS_FLAT_RANGES_H
#define PROFD_COMMON_SYMBOLS_FLAT_RANGES_H

/* Ranges of addresses that overlap, made flat: one answer for each address. */
#include <stddef.h>
#include <stdint.h>

/* [start, end) belongs to @value. Where several cover an address, see flat_build(). */
struct flat_range {
	uint64_t start, end;
	uint32_t rank, value;
};

struct flat_ranges {
	struct flat_range *items;
	size_t n, size;
};

/* Adds one; empty ones are left out. Returns 0 or -ENOMEM. */
int flat_add(struct flat_ranges *f, const struct flat_range *range);
void flat_deinit(struct flat_ranges *f);
/*
 * Replaces the ranges by ascending ones that do not overlap: an address belongs to the range of the
 * highest rank that covers it, of these to the shortest, of these to that with the lowest value.
 * O(n log n), whatever they are. Returns 0 or -ENOMEM, and then *f is as it was.
 */
int flat_build(struct flat_ranges *f);
/* After flat_build(). The range that holds @address, or NULL. */
const struct flat_range *flat_find(const struct flat_ranges *f, uint64_t address);

#endif
