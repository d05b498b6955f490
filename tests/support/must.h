/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_MUST_H
#define PROFD_TESTS_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program that cannot go on without @what says so and ends. @r: 0, or negative errno. */
static inline void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-r));
	exit(EXIT_FAILURE);
}

#endif
