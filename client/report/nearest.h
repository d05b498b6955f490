/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_REPORT_NEAREST_H
#define PROFD_CLIENT_REPORT_NEAREST_H

/* Which of the names that there are the user may have meant: a few, the nearest first. Pure. */
#include <stddef.h>

#define NEAREST_MAX       3
#define NEAREST_NAME_SIZE 64

/* All but @asked, borrowed, is zero to begin with. */
struct nearest {
	const char *asked;
	char names[NEAREST_MAX][NEAREST_NAME_SIZE];
	size_t distances[NEAREST_MAX];
	size_t n;
};

/*
 * Considers @name, whatever it holds: near is what has all of @asked in it, or differs in a third
 * of its bytes at most, whatever the case; ".service" does not count. Longer names than fit are
 * passed over.
 */
void nearest_add(struct nearest *n, const char *name);
/* "; did you mean a, b or c?", or "". Returns @buffer, NUL-terminated and cut if need be. */
const char *nearest_print(const struct nearest *n, char *buffer, size_t size);

#endif
