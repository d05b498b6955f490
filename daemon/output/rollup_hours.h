/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_ROLLUP_HOURS_H
#define PROFD_OUTPUT_ROLLUP_HOURS_H

/* Which small files go into which hour, and which into which day: levels 0 and 1. Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/output/index.h"

#define ROLLUP_LEVELS 2u

/* What the files of a level become, seconds; the next one starts from what the one before it left.
 */
extern const uint32_t rollup_levels[ROLLUP_LEVELS];

/* An hour of a shelf: its files [first, end), of which @n are small. */
struct rollup_hour {
	unsigned level;
	uint64_t start_s;
	size_t first, end, n;
	bool has_failed;
};

/* Whether @level takes @file. */
bool rollup_is_minute(const struct index_file *file, unsigned level);
/* The start of the hour that it begins in. */
uint64_t rollup_hour_of(const struct index_file *file, unsigned level);
/* The hour that begins where @h ends; false: there is none. */
bool rollup_next_hour(const struct index_queue *queue, struct rollup_hour *h);

#endif
