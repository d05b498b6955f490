/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_MEMORY_TEXT_H
#define PROFD_CLIENT_ANALYSIS_MEMORY_TEXT_H

/* A text that is printed as to a file, and stays in memory. */
#include <stddef.h>
#include <stdio.h>

/* All zero is no text. */
struct memory_text {
	char *text; /* owned; NUL-terminated, and complete once it is closed */
	size_t length;
	FILE *out; /* NULL: it is closed */
};

/* 0 or negative errno. */
int memory_text_open(struct memory_text *t);
/* 0, or negative errno where something could not be written. */
int memory_text_close(struct memory_text *t);
void memory_text_deinit(struct memory_text *t);

#endif
