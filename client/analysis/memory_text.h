/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_MEMORY_TEXT_H
#define PROFD_CLIENT_ANALYSIS_MEMORY_TEXT_H

/* A text that is printed as to a file, and stays in memory. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/error.h"

/* All zero is no text. */
struct memory_text {
	char *text; /* owned; NUL-terminated, and complete once it is closed */
	size_t length;
	FILE *out; /* NULL: it is closed */
};

/* 0 or negative errno. */
static inline int memory_text_open(struct memory_text *t)
{
	t->out = open_memstream(&t->text, &t->length);
	return t->out ? 0 : error_origin(-ENOMEM);
}

/* 0, or negative errno where something could not be written. */
static inline int memory_text_close(struct memory_text *t)
{
	return fclose(steal_ptr(&t->out)) == 0 ? 0 : error_origin(-ENOMEM);
}

static inline void memory_text_deinit(struct memory_text *t)
{
	fclosep(&t->out);
	free(t->text);
}

#endif
