/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_CREDENTIALS_H
#define PROFD_CLIENT_GATEWAY_HTTP_CREDENTIALS_H

/*
 * What clients show to be let in. A file has a line for each: ROLE NAME SECRET. A client sends the
 * secret as a bearer token (RFC 6750), or name and secret as user and password (basic, RFC 7617).
 *
 * What a client sends is not decoded: it is compared with what each line would be sent as, in a
 * time that does not depend on where they differ.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"

/* Each may do what those before it may. */
enum http_role {
	HTTP_ROLE_NONE,
	HTTP_ROLE_METRICS,
	HTTP_ROLE_READ,
};

#define HTTP_SECRET_MIN      16u
#define HTTP_CREDENTIALS_MAX 64u /* lines */
#define HTTP_LINE_MAX        255u

enum {
	HTTP_CREDENTIALS_E_OK,
	HTTP_CREDENTIALS_E_BAD, /* see the message */
};

struct http_message {
	char text[300]; /* one line */
};

struct http_credentials;

/* Of the @length bytes of a file, called @name in messages. HTTP_CREDENTIALS_E_* or negative errno.
 */
int http_credentials_parse(struct http_credentials **ret, const char *text, size_t length,
			   const char *name, struct http_message *message);
/* A file that other users could read is bad. */
int http_credentials_load(struct http_credentials **ret, const char *path,
			  struct http_message *message);
/* Takes NULL. */
void http_credentials_free(struct http_credentials *c);
DEFINE_CLEANUP(struct http_credentials *, http_credentials_free)

/* Takes as long whether and wherever they differ, if they are of one length. */
bool http_secret_equal(const char *a, const char *b);

/* Of a client that sends @authorization (NULL: nothing). Of no credentials (NULL): none. */
enum http_role http_credentials_find(const struct http_credentials *c, const char *authorization);

#endif
