/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_SERVER_H
#define PROFD_CLIENT_GATEWAY_HTTP_SERVER_H

/*
 * An HTTP/1.1 server on libmicrohttpd, in an sd-event loop, without threads. What a stranger can
 * make it hold is bounded: connections, in all and of one client (client.h); bytes of a request;
 * the time in which a request has to be there, and the answer to be taken. A request is let in by
 * its Host, its site, its credentials, in this order, before it is looked at any closer.
 *
 * Only here libmicrohttpd is seen.
 */
#include <stdint.h>

#include <systemd/sd-event.h>

#include "client/gateway/http/credentials.h"
#include "client/gateway/http/http.h"
#include "client/gateway/http/listener.h"
#include "client/gateway/http/ticket.h"

#define HTTP_CONNECTIONS_MAX        256u
#define HTTP_CLIENT_CONNECTIONS_MAX 64u
#define HTTP_REQUEST_MS             10000u /* for a request to be there, once it has begun */
#define HTTP_IDLE_MS                75000u /* from an answer to the next request */
#define HTTP_ANSWER_MS              30000u /* for an answer to be taken; and a second more for */
#define HTTP_ANSWER_BYTES           32768u /* each of these */
#define HTTP_SENDING_MAX            ((size_t)64 << 20)  /* bytes of all answers not taken yet */
#define HTTP_SMALL_MAX              ((size_t)256 << 10) /* an answer that does not wait for them */

/* Who is let in. It may change between two turns of the loop. */
struct http_access {
	char *const *allowed_hosts; /* NULL-terminated */
	/*
	 * NULL: none. Then clients on a Unix socket, which its mode chooses, may read all, and
	 * those on loopback, anyone on this machine, the metrics.
	 */
	const struct http_credentials *credentials;
	/* NULL: none. Else it alone lets clients in, wherever the server listens. */
	struct http_ticket *ticket;
};

/* All but the loop and the listener are borrowed as long as the server lives. */
struct http_server_options {
	sd_event *loop;
	const struct http_listener *listener;
	const struct http_access *access;
	struct http_counters *counters; /* counted on: several servers may share them */
	const struct http_route *routes;
	void *userdata;                /* of their handlers */
	const char *certificate, *key; /* PEM; NULL: no TLS */
	uint64_t request_ms, idle_ms;  /* 0: HTTP_REQUEST_MS, HTTP_IDLE_MS; for tests */
};

enum {
	HTTP_SERVER_E_OK,
	HTTP_SERVER_E_BAD, /* see the message */
};

struct http_server;

/* HTTP_SERVER_E_* or negative errno. */
int http_server_new(struct http_server **ret, const struct http_server_options *options,
		    struct http_message *message);
/* Cuts the connections off, and cancels what is not answered. Takes NULL. */
void http_server_free(struct http_server *s);
DEFINE_CLEANUP(struct http_server *, http_server_free)

/*
 * Takes no more connections. Those between two requests are closed, the others once they have their
 * answer. Then @drained is called, once, from the loop; it may free the server.
 */
void http_server_retire(struct http_server *s, void (*drained)(void *userdata), void *userdata);

#endif
