/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_PAGE_H
#define PROFD_CLIENT_GATEWAY_PAGE_H

/*
 * The page: page/, as embed.cmake puts it together when profd is built, and what serves it. It
 * holds nothing of the machine; what it shows, it asks for at the same server.
 */
#include <stddef.h>

#include "client/gateway/http/http.h"

struct page_file {
	const char *name, *etag; /* the latter as the header has it, of the contents */
	const unsigned char *bytes;
	size_t length;
};

/* Up to one without a name. */
extern const struct page_file page_files[];

/* Answers with the file that the route's `*` names, or with index.html. */
void page_handle(struct http_exchange *x, void *userdata);

#endif
