/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TOP_SCREEN_H
#define PROFD_TOP_SCREEN_H

/*
 * What `top` shows, as text: a screen's lines, or a table for whatever is no terminal; and what
 * keys do to it. Names are strangers': what could move the cursor never gets out. Pure.
 */
#include <stdbool.h>
#include <stdio.h>

#include "client/top/functions.h"

#define TOP_FILTER_SIZE 64

/* What is asked for, by keys or options. */
struct top_view {
	enum top_order order;
	char filter[TOP_FILTER_SIZE]; /* name_filter_matches() */
	size_t first;                 /* line of the table that is shown first */
	uint64_t interval_ns;
	bool is_typing; /* the filter */
	bool is_paused, has_help;
};

/* What is told beside the functions. */
struct top_facts {
	const char *target;           /* "everything", "pid 12" ... */
	const char *trouble;          /* a line; NULL: none */
	uint64_t interval_ns, all_ns; /* that were measured */
	struct top_sums sums;
	uint64_t n_lost; /* samples, since the beginning */
	bool is_time;    /* values are nanoseconds of CPU time, or of a clock on the wall: */
	bool is_wall;
};

/* Functions in their order, borrowed, and what is told beside them. */
struct top_table {
	const struct top_facts *facts;
	const struct top_function *const *functions;
	size_t n;
};

enum { TOP_GOES_ON, TOP_REDRAWS, TOP_QUITS };

/*
 * What @key (keys.h) does to @view, whose screen has @rows lines, of a table of @n functions.
 * Returns TOP_*.
 */
int top_key(struct top_view *view, int key, unsigned rows, size_t n);
/* Scrolls back to where a table of @n functions ends now, if it has become shorter. */
void top_settle(struct top_view *view, unsigned rows, size_t n);

/*
 * Writes the lines of a screen of @rows times @columns to @out, each with what erases the rest of
 * it, from where the cursor is. Where there is little room, numbers give way to names.
 */
void top_draw(const struct top_view *view, const struct top_table *table, unsigned rows,
	      unsigned columns, FILE *out);
/*
 * The same as a table of at most @max functions that cost something in the interval, for so many
 * @columns; 0: nothing is cut.
 */
void top_print(const struct top_table *table, size_t max, unsigned columns, FILE *out);

/*
 * @text in at most @columns (characters.h), without what is no character; what is cut ends in "~".
 */
void top_put_name(FILE *out, const char *text, size_t columns);

#endif
