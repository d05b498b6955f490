/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_DIGITS_H
#define PROFD_COMMON_DIGITS_H

/* Numbers in texts that have no NUL at their end. */
#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the digits at *@at, before @end, and moves behind them; those above 9 may be small or
 * capital letters. False: there is none, or the number passes 64 bits.
 */
static inline bool digits_read(const char **at, const char *end, unsigned base, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	for (; p < end; p++) {
		unsigned c = (unsigned char)*p, digit = c - '0';

		if (digit >= 10)
			digit = (c | 0x20) - 'a' < 6 ? (c | 0x20) - 'a' + 10 : base;
		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*ret = value;
	return true;
}

#endif
