/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_REPORT_SLIP_H
#define PROFD_CLIENT_REPORT_SLIP_H

/* Words, typed as they are, or mistyped. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool word_is(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

/*
 * Whether one character too many, too few or another one is all the difference between @a, of
 * @n_a bytes, and @b, or two that are swapped. Pure.
 */
static inline bool slip_is(const char *a, size_t n_a, const char *b, size_t n_b)
{
	while (n_a && n_b && *a == *b)
		a++, b++, n_a--, n_b--;
	while (n_a && n_b && a[n_a - 1] == b[n_b - 1])
		n_a--, n_b--;
	return (n_a <= 1 && n_b <= 1) || (n_a == 2 && n_b == 2 && a[0] == b[1] && a[1] == b[0]);
}

#endif
