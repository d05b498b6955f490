/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_BASE64_H
#define PROFD_COMMON_BASE64_H

/* Bytes as text: RFC 4648, section 4. Pure. */
#include <stddef.h>

/* Characters that @length bytes become; a constant for a constant. */
#define BASE64_LENGTH(length) (((length) + 2) / 3 * 4)

/* @ret has BASE64_LENGTH(@length) + 1 bytes; it is ended by a NUL. */
void base64_encode(const void *data, size_t length, char *ret);

#endif
