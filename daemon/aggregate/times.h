/* SPDX-License-Identifier: MIT */
#ifndef PROFD_AGGREGATE_TIMES_H
#define PROFD_AGGREGATE_TIMES_H

/*
 * The buckets of time of an aggregate's entries, all of one length: 2^scale units of 100 ms. They
 * are made coarser when their owner wants to, and given up when they are as coarse as can be.
 * Internal to the aggregate.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/aggregate/aggregate.h"

struct times {
	struct aggregate_time *all;
	uint32_t n, capacity;
	unsigned scale;
	bool is_off; /* given up: there are none */
};

void times_deinit(struct times *t);
/* Whether @e has that bucket as its newest, which counts @count more then. */
bool times_count(struct times *t, const struct aggregate_entry *e, uint64_t bucket, uint64_t count);
/* A new one, for which there is room by now, or not. 0 or negative errno. */
int times_add(struct times *t, struct aggregate_entry *e, uint64_t bucket, uint64_t count);
/* Bytes that times_add() allocates, and those that are held. */
size_t times_growth(const struct times *t);
size_t times_bytes(const struct times *t);
/* Buckets of twice the length, of all @n @entries, or none at all. 0 or negative errno. */
int times_coarsen(struct times *t, struct aggregate_entry *entries, size_t n);

#endif
