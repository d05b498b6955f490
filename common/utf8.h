/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UTF8_H
#define PROFD_COMMON_UTF8_H

/* Which bytes are UTF-8 (RFC 3629: shortest forms, no surrogates, up to U+10FFFF). Pure. */
#include <stdbool.h>
#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * How many bytes the character at the beginning of [text, text + length) has; 0: it is none. A NUL
 * is one.
 */
size_t utf8_character(const char *text, size_t length);
bool utf8_is_valid(const char *text);
/* How many characters that are; a byte that is none counts as one. */
size_t utf8_length(const char *text);
/* printf()'s field width, which it counts in bytes, for @width characters: "%*s". */
int utf8_field(const char *text, int width);
/* A copy in which each byte that is none is U+FFFD; malloc'ed, NULL if there is no memory. */
char *utf8_repair(const char *text);

/*
 * How many bytes at the beginning of @text, which is not empty, make one character that does
 * nothing to a terminal; 0: the first byte is a control character, or begins one, or is one of a
 * terminal's that knows no UTF-8 and stands in no character (C1, ECMA-48). Other bytes that are no
 * UTF-8 count as characters.
 */
size_t utf8_harmless(const char *text);
/* Puts '?' in place of the bytes of @text that are not. */
void utf8_make_harmless(char *text);

#endif
