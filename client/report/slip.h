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
bool slip_is(const char *a, size_t n_a, const char *b, size_t n_b);

#endif
