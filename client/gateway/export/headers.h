/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_HEADERS_H
#define PROFD_CLIENT_GATEWAY_EXPORT_HEADERS_H

/*
 * The file of headers that are sent with each request to a target, tokens and tenants: lines as
 * client/fetch/http_headers.h has them. They are secrets: no message has one.
 */

struct headers_message {
	char text[512]; /* one line */
};

enum {
	HEADERS_E_OK,
	HEADERS_E_BAD, /* see the message */
};

/* Its text, malloc'ed; of @path "", none, "". HEADERS_E_* or negative errno. */
int headers_read(const char *path, char **ret, struct headers_message *message);

#endif
