/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_PLACES_H
#define PROFD_CLIENT_GATEWAY_HTTP_PLACES_H

/* A number of places, of which one client has a part at most, so that others find one, too. Pure.
 */
#include "client/gateway/http/client.h"
#include "common/cleanup.h"

enum {
	HTTP_PLACES_E_OK,
	HTTP_PLACES_E_FULL,
	HTTP_PLACES_E_CLIENT, /* this client has all that it may have */
};

struct http_places;

/* 0 or -ENOMEM. */
int http_places_new(struct http_places **ret, unsigned max, unsigned max_client);
/* Takes NULL. */
void http_places_free(struct http_places *p);
DEFINE_CLEANUP(struct http_places *, http_places_free)

/* HTTP_PLACES_E_*. */
int http_places_take(struct http_places *p, const struct http_client *client);
/* One that it has taken. */
void http_places_leave(struct http_places *p, const struct http_client *client);

#endif
