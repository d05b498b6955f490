/* SPDX-License-Identifier: MIT */
#ifndef PROFD_EXPORT_OTLP_TABLE_H
#define PROFD_EXPORT_OTLP_TABLE_H

/*
 * Byte strings, each of which is there once, numbered in the order in which they were added. The
 * tables of an OTLP dictionary are such: an entry is an encoded message, or a text, and two are
 * equal if their bytes are. Number 0 is the empty one, which is what OTLP wants there: the zero
 * value of its message.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile_table.h"

struct otlp_table {
	uint8_t *bytes; /* of all of them, one behind another */
	size_t max_bytes;
	size_t *ends; /* of each one, in bytes[] */
	size_t n, max;
	struct profile_table table;
	struct profile_hash_key key;
};

/* Has the empty one. 0 or negative errno. */
int otlp_table_init(struct otlp_table *t);
/* Also of one that is all zero. */
void otlp_table_deinit(struct otlp_table *t);
/* *ret: the number of these bytes, below 2^31. 0 or negative errno. */
int otlp_table_add(struct otlp_table *t, const void *bytes, size_t length, uint32_t *ret);
/* Entry @i, valid until the next one is added. */
const uint8_t *otlp_table_get(const struct otlp_table *t, size_t i, size_t *ret_length);

#endif
