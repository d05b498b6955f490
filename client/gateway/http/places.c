/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/places.h"

#include <errno.h>

#include "common/error.h"

struct http_places {
	unsigned n, max, max_client;
	struct http_client clients[]; /* of each place that is taken */
};

int http_places_new(struct http_places **ret, unsigned max, unsigned max_client)
{
	struct http_places *p = calloc(1, sizeof(*p) + max * sizeof(p->clients[0]));

	if (!p)
		return error_origin(-ENOMEM);
	p->max = max;
	p->max_client = max_client;
	*ret = p;
	return 0;
}

void http_places_free(struct http_places *p)
{
	free(p);
}

int http_places_take(struct http_places *p, const struct http_client *client)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++)
		n += http_clients_are_equal(&p->clients[i], client);
	if (n >= p->max_client)
		return HTTP_PLACES_E_CLIENT;
	if (p->n >= p->max)
		return HTTP_PLACES_E_FULL;
	p->clients[p->n++] = *client;
	return HTTP_PLACES_E_OK;
}

void http_places_leave(struct http_places *p, const struct http_client *client)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (http_clients_are_equal(&p->clients[i], client)) {
			p->clients[i] = p->clients[--p->n];
			return;
		}
	}
}
