/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_LINE_READER_H
#define PROFD_COMMON_LINE_READER_H

/*
 * The lines of a text that comes in pieces. Takes no memory, and is async-signal-safe. Longer lines
 * than LINE_READER_MAX are left out.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/span.h"

#define LINE_READER_MAX 4096u

/* All zero is the beginning. */
struct line_reader {
	size_t n;         /* kept of a line whose end has not come */
	bool is_too_long; /* that line is left out */
	char kept[LINE_READER_MAX];
};

/*
 * The next line, without its end, of what was kept and *piece, which shrinks; valid until the next
 * call, and as long as the piece. False: its end is in the next piece.
 */
bool line_reader_next(struct line_reader *r, struct span *piece, struct span *ret);
/* The last line, if no newline ended it. */
bool line_reader_end(struct line_reader *r, struct span *ret);

#endif
