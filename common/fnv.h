/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_FNV_H
#define PROFD_COMMON_FNV_H

/* FNV-1a, 64 bits: stable over runs and machines, so that it may be a part of names. */
#include <stddef.h>
#include <stdint.h>

#define FNV_INIT UINT64_C(0xcbf29ce484222325)

/* The hash of what @hash is of, FNV_INIT of nothing, and of @data behind it. */
static inline uint64_t fnv_hash(const void *data, size_t length, uint64_t hash)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
