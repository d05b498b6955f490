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

struct table;

/* @columns: headings, NULL-terminated; one that begins with '>' is set flush right. */
int table_new(struct table **ret, const char *const *columns);
void table_free(struct table *t);
DEFINE_CLEANUP(struct table *, table_free)
/* Adds the next cell, row by row; copied. Without memory the table stays incomplete and says so. */
void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints what was added. Returns 0 or negative errno. */
int table_print(const struct table *t, FILE *out);

/* Writes @text with control characters replaced by '?'. */
void print_safely(FILE *out, const char *text);

#endif
