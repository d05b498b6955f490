/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_HTTP_HEADERS_H
#define PROFD_CLIENT_FETCH_HTTP_HEADERS_H

/*
 * Headers that a user gives for requests, as text: "Name: value", one a line (RFC 9110, section 5).
 * Blank lines, and those that begin with '#', are left out. They may be secrets: why one is refused
 * repeats nothing of it. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEADERS_MAX      ((size_t)16 << 10) /* bytes of the text */
#define HTTP_HEADERS_MAX_N    64u
#define HTTP_CONTENT_TYPE_MAX 127u /* bytes; of an encoding's name, too */

struct http_headers {
	const char *rest;    /* of the text; at first all of it */
	unsigned line, n;    /* that were read */
	const char *trouble; /* what is wrong with that line, to be read after "line 3"; or NULL */
};

/*
 * The next one, as it is to be sent; not NUL-terminated. False: there is no other, or this one is
 * refused: it is malformed, or one that says how the request itself is sent.
 */
bool http_headers_next(struct http_headers *h, const char **ret, size_t *ret_length);
/* Whether that can be a header's value: it is not empty, and printable ASCII. */
bool http_header_is_value(const char *text, size_t length);

#endif
