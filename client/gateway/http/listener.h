/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_LISTENER_H
#define PROFD_CLIENT_GATEWAY_HTTP_LISTENER_H

/*
 * Where a server listens: the path of a Unix socket, ADDRESS:PORT or [ADDRESS]:PORT. Names are not
 * resolved but for `localhost`, which is 127.0.0.1: what is open to whom is to be read off.
 */
#include <stdbool.h>
#include <sys/socket.h>

#include "client/gateway/http/credentials.h" /* struct http_message */
#include "common/cleanup.h"

enum {
	HTTP_LISTENER_E_OK,
	HTTP_LISTENER_E_BAD,    /* see the message */
	HTTP_LISTENER_E_ABSENT, /* the same; the address may come later */
};

struct http_place {
	const char *path; /* of a Unix socket, borrowed; NULL: an address */
	struct sockaddr_storage address;
	socklen_t length;
	bool is_local; /* only this machine reaches it */
	bool any_port; /* port 0: the kernel chooses one */
};

/* Pure. Returns HTTP_LISTENER_E_*. */
int http_place_parse(const char *text, struct http_place *ret, struct http_message *message);

struct http_listener;

/*
 * @text is a place. A Unix socket is open to @group, mode 0660; where we may not give it to that
 * (it is NULL, unknown, or not ours), mode 0600. A stale one is replaced. Returns HTTP_LISTENER_E_*
 * or negative errno.
 */
int http_listener_new(struct http_listener **ret, const char *text, const char *group,
		      struct http_message *message);
/* Removes a Unix socket, if it is still ours. Takes NULL. */
void http_listener_free(struct http_listener *l);
DEFINE_CLEANUP(struct http_listener *, http_listener_free)

/* Listens, non-blocking; the listener's. */
int http_listener_fd(const struct http_listener *l);
const char *http_listener_text(const struct http_listener *l);
/* Borrowed; valid as long as @l. */
const struct http_place *http_listener_place(const struct http_listener *l);

#endif
