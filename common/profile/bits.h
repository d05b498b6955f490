/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_BITS_H
#define PROFD_COMMON_PROFILE_BITS_H

/*
 * A stream of numbers that take no more bits than they need, the most significant bit of each byte
 * first. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bits_out {
	uint8_t *data; /* malloc'ed */
	size_t n_bits, size;
};

/*
 * One of the @n numbers from 0 on (@n is not 0), by truncated binary coding: all have the same
 * number of bits, or the first ones one bit less. 0 or -ENOMEM.
 */
int bits_put(struct bits_out *out, uint64_t value, uint64_t n);

struct bits_in {
	const uint8_t *data;
	size_t n_bits, at;
};

/* False: the stream has ended. */
bool bits_get(struct bits_in *in, uint64_t n, uint64_t *ret);

#endif
