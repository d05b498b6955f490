/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_PROGRESS_H
#define PROFD_PROFCTL_PROGRESS_H

/*
 * One line on a terminal that tells how far a long work is, and is gone when it is done. Where
 * standard error is no terminal, or one that cannot erase a line (TERM=dumb), or NO_COLOR is set,
 * all of it does nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "client/profctl/profctl.h"

struct progress {
	FILE *out; /* NULL: nothing is shown */
	bool is_shown;
	uint64_t next_ns; /* when progress_update() shows something; monotonic */
};

#define PROGRESS_UNKNOWN (-1.0)

void progress_init(struct progress *p, const struct context *context);
/* @done: 0 to 1, or PROGRESS_UNKNOWN; @text: what is done, and how much of it; printed safely. */
void progress_show(struct progress *p, double done, const char *text);
/* The same, but not within the first second of @p, nor more often than people read. */
void progress_update(struct progress *p, double done, const char *text);
/* Before anything else is written there. */
void progress_clear(struct progress *p);

/*
 * The line, at most @columns wide, without what moves the cursor: "[####    ]  50 % text". Pure;
 * returns its length, @size suffices if larger than @columns.
 */
size_t progress_line(char *line, size_t size, unsigned columns, double done, const char *text);

#endif
