/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_TABLE_H
#define PROFD_PROFCTL_TABLE_H

/*
 * A table for people: columns as wide as their widest cell, two blanks between them. Cells are
 * printed without control characters: they may hold names that strangers chose.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/units.h"

struct table {
	const char *const *columns; /* headings, up to NULL */
	size_t max;                 /* columns of the terminal, to fit; 0: as wide as it is */
	char **cells;
	size_t n_cells, capacity;
	bool incomplete;
};

/*
 * An empty one of these headings; one that begins with '>' is set flush right, and '~' is what is
 * cut where there is no room: at its end, or the last column in front, which is for paths. Where
 * little would be left of it the last ones of the others are not printed.
 */
#define TABLE_OF(...)                            \
	{                                        \
		.columns = (const char *const[]) \
		{                                \
			__VA_ARGS__, NULL        \
		}                                \
	}

void table_deinit(struct table *t);
/* Adds the next cell, row by row; copied. Without memory the table stays incomplete and says so. */
void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints what was added. Returns 0 or negative errno. */
int table_print(const struct table *t, FILE *out);

/* Texts as units.h prints them, which live as long as the block that they are in. */
#define TEXT_OF_SIZE(bytes)   units_print_size_short((char[UNITS_TEXT_MAX]){0}, UNITS_TEXT_MAX, bytes)
#define TEXT_OF_SPAN(seconds) units_print_span((char[UNITS_TEXT_MAX]){0}, UNITS_TEXT_MAX, seconds)
#define TEXT_OF_MOMENT(ns)    units_print_moment((char[UNITS_TEXT_MAX]){0}, UNITS_TEXT_MAX, ns, false)

/* Writes @text with control characters replaced by '?'. */
void print_safely(FILE *out, const char *text);

#endif
