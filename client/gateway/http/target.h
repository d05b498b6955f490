/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_TARGET_H
#define PROFD_CLIENT_GATEWAY_HTTP_TARGET_H

/*
 * What a request line asks for (RFC 9112, section 3.2.1; RFC 3986): a path, taken apart at its
 * slashes before anything is decoded, so that an encoded slash is part of a name; and a query of
 * NAME=VALUE. Whatever has two readings is refused: empty segments, `.` and `..`, control
 * characters, a NUL. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#define HTTP_TARGET_MAX   2048u /* bytes */
#define HTTP_SEGMENTS_MAX 8u
#define HTTP_PARAMS_MAX   16u
#define HTTP_PRINTED_MAX  (3 * HTTP_TARGET_MAX) /* bytes of one that is encoded again */

struct http_param {
	const char *name, *value;
};

/* Its texts are decoded, and may hold any bytes but NUL and control characters. */
struct http_target {
	size_t n_segments, n_params;
	bool is_repeated; /* a parameter is given twice: that has two readings, too, for most */
	const char *segments[HTTP_SEGMENTS_MAX];
	struct http_param params[HTTP_PARAMS_MAX];
	char text[HTTP_TARGET_MAX + 1];
};

enum {
	HTTP_TARGET_E_OK,
	HTTP_TARGET_E_MALFORMED,
	HTTP_TARGET_E_TOO_LONG, /* or of too many parts */
};

/* @ret is not to be moved. Of "/", there are no segments. Returns HTTP_TARGET_E_*. */
int http_target_parse(const char *raw, size_t length, struct http_target *ret);
/* The first one of the name; NULL: it was not given. */
const char *http_target_param(const struct http_target *target, const char *name);
/*
 * The same target again, but for the parameter @without, encoded: it is parsed to the same. As
 * snprintf(3) does, it is cut to @size, and the length that it would have is returned.
 */
size_t http_target_print(const struct http_target *target, const char *without, char *ret,
			 size_t size);
/*
 * Whether the path is @pattern, "/pid/ * /x" without the blanks: a `*` is any one segment, which
 * becomes *ret_wild. At most one is there; without one *ret_wild is NULL.
 */
bool http_target_matches(const struct http_target *target, const char *pattern,
			 const char **ret_wild);

#endif
