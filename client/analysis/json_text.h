/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_JSON_TEXT_H
#define PROFD_CLIENT_ANALYSIS_JSON_TEXT_H

/*
 * Texts and numbers in JSON (RFC 8259). They may hold any bytes: what is no valid UTF-8 becomes
 * U+FFFD. '<', U+2028 and U+2029 are escaped, so that JSON can stand in a <script> of an HTML page,
 * whatever the texts say, and be read as JavaScript by what is older than ECMAScript 2019; and so
 * is what is harmful (utf8.h), so that JSON can be looked at on a terminal.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes @text with its quotes. Errors stay in the stream (ferror(3)). */
void json_text_write(FILE *out, const char *text);
/* Writes a number of a list, behind a comma if there is one before it. */
void json_list_number(FILE *out, bool is_first, int64_t n);

#endif
