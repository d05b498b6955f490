/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FIREFOX_ROWS_H
#define PROFD_CLIENT_ANALYSIS_FIREFOX_ROWS_H

/* The samples of one thread in the Firefox Profiler's format: when each was, and its stack. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/profile/profile.h"

struct firefox_row {
	double start_ms, length_ms; /* the bucket of time that it was counted in, Unix time */
	double at_ms;               /* when it is shown */
	uint64_t count;
	uint32_t stack; /* PROFILE_NONE: the thread did nothing until then */
};

/* All zero but for the interval is empty. */
struct firefox_rows {
	struct firefox_row *all;
	size_t n, max;
	double interval_ms; /* between two samples of a thread */
};

void firefox_rows_deinit(struct firefox_rows *rows);
/* Adds the rows of a sample of @p, whose stack this is. 0 or negative errno. */
int firefox_rows_add(struct firefox_rows *rows, const struct profile *p, uint32_t sample,
		     uint32_t stack);
/*
 * Puts them into the order of time: those of one bucket one after the other, by the interval or,
 * where there are more, all over it. In front of what comes after a pause is a row without a stack.
 * 0 or negative errno.
 */
int firefox_rows_arrange(struct firefox_rows *rows);
/*
 * The table, of times since @begin_ms. @cpu_ns: the CPU time of each of the counted samples; 0: it
 * is not known.
 */
void firefox_rows_write(const struct firefox_rows *rows, double begin_ms, double cpu_ns, FILE *out);

#endif
