/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_BYTES_H
#define PROFD_COMMON_BYTES_H

/* Numbers as files have them: anywhere, and in either byte order. */
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BYTES_HOST_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* The number that the @n bytes (1 to 8) at @at are. */
static inline uint64_t bytes_number(const void *at, size_t n, bool is_big)
{
	uint64_t word = 0;

	memcpy(&word, at, n);
	return is_big ? be64toh(word) >> (64 - 8 * n) : le64toh(word);
}

#endif
