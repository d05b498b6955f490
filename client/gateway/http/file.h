/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_FILE_H
#define PROFD_CLIENT_GATEWAY_HTTP_FILE_H

/* Files with secrets: they are small, not for everybody to read, and wiped when they are freed. */
#include <stddef.h>

#include "client/gateway/http/credentials.h"
#include "common/cleanup.h"

#define HTTP_FILE_MAX 65536u /* bytes */

enum {
	HTTP_FILE_E_OK,
	HTTP_FILE_E_BAD, /* the message says which one, and why */
};

struct http_file {
	size_t length;
	char text[HTTP_FILE_MAX + 1]; /* with a NUL behind it */
};

/* HTTP_FILE_E_* or negative errno. A certificate, which is public, is read by the second. */
int http_file_read(struct http_file **ret, const char *path, struct http_message *message);
int http_file_read_public(struct http_file **ret, const char *path, struct http_message *message);
/* Takes NULL. */
void http_file_free(struct http_file *f);
DEFINE_CLEANUP(struct http_file *, http_file_free)

#endif
