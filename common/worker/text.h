/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_TEXT_H
#define PROFD_COMMON_WORKER_TEXT_H

/*
 * What a text in an answer may hold: UTF-8 (RFC 3629: shortest forms, no surrogates, up to
 * U+10FFFF) without control characters (U+0000 to U+001F, U+007F to U+009F), so that it can be
 * printed and encoded anywhere. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

bool text_is_clean(const char *text, size_t length);
/*
 * Copies [text, text + length) to @ret, of which it fills at most @max bytes, and a NUL behind
 * them; each byte that may not be becomes U+FFFD. Cut between characters. Returns the bytes
 * filled.
 */
size_t text_clean(const char *text, size_t length, char *ret, size_t max);

#endif
