/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UTF8_H
#define PROFD_COMMON_UTF8_H

/* Which bytes are UTF-8 (RFC 3629: shortest forms, no surrogates, up to U+10FFFF). Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * How many bytes the character at the beginning of [text, text + length) has; 0: it is none. A NUL
 * is one.
 */
size_t utf8_character(const char *text, size_t length);
/* Which character those @n bytes are, n being what utf8_character() says. */
uint32_t utf8_code_point(const char *text, size_t n);
#define UTF8_SIZE 5
/* Makes @text the character @code, at most U+10FFFF and no surrogate. Returns its bytes: 1 to 4. */
size_t utf8_write(char text[UTF8_SIZE], uint32_t code);
bool utf8_is_valid(const char *text);
/* How many characters that are; a byte that is none counts as one. */
size_t utf8_length(const char *text);
/* printf()'s field width, which it counts in bytes, for @width characters: "%*s". */
int utf8_field_width(const char *text, int width);
/* A copy in which each byte that is none is U+FFFD; malloc'ed, NULL if there is no memory. */
char *utf8_repair(const char *text);

/*
 * How many bytes the character at the beginning of @text, which is not empty, has; a byte that is
 * no UTF-8 counts as one. *ret_harmless: it does nothing to a terminal, nor to what is beside
 * it. Harmful are control characters, also those of a terminal that knows no UTF-8 (C1, ECMA-48),
 * and what changes the direction of writing (Unicode Standard Annex #9, section 2).
 */
size_t utf8_next(const char *text, bool *ret_harmless);
/*
 * Puts '?' in place of the characters of @text that are harmful; it may be shorter then. Those of
 * @kept (of ASCII, may be "") pass.
 */
void utf8_make_harmless(char *text, const char *kept);
/* Writes @text in this way. Errors stay in the stream. */
void utf8_write_harmless(FILE *out, const char *text, const char *kept);

#endif
