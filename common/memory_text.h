/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_MEMORY_TEXT_H
#define PROFD_COMMON_MEMORY_TEXT_H

/*
 * A text that is printed as to a file, and stays in memory: whole, or not at all. (glibc's
 * open_memstream() drops a piece that it has no memory for and keeps the next one; neither ferror()
 * nor fclose() reports it.)
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"

/* All zero is no text. It stays where it is while it is open. */
struct memory_text {
	char *text; /* owned; NUL-terminated, complete once it is closed; NULL: no memory */
	size_t length, max;
	FILE *out; /* ftell() works, fseek() does not; NULL: it is closed */
};

/* 0 or -ENOMEM. */
int memory_text_open(struct memory_text *t);
/* 0, or -ENOMEM where something could not be written. */
int memory_text_close(struct memory_text *t);

static inline void memory_text_deinit(struct memory_text *t)
{
	fclosep(&t->out);
	free(t->text);
}

#endif
