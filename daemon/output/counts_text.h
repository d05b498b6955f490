/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_COUNTS_TEXT_H
#define PROFD_OUTPUT_COUNTS_TEXT_H

/*
 * What a file holds, or each hour of a day's file, as the text of an extended attribute:
 * "samples:cpu_ns:peak_ms@at" where the peak is known, else "samples:cpu_ns", with "~off_ns" behind
 * it where threads are known to have waited, and a '!' if the file has events; a space between two
 * and, of earlier profds, behind the last one. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/output/index.h"

#define COUNTS_TEXT_MAX 87u /* of one, with the space or the end */

/* @ret: COUNTS_TEXT_MAX bytes for each of @n. Returns its length. */
size_t counts_text_print(const struct index_counts *counts, size_t n, char *ret);
/* False: @text is not of @n of them. */
bool counts_text_parse(const char *text, struct index_counts *ret, size_t n);

#endif
