/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_SERVER_PRIVATE_H
#define PROFD_CLIENT_GATEWAY_HTTP_SERVER_PRIVATE_H

/* What the parts of the server share: connections.c, and requests and answers (exchange.c). */
#include <microhttpd.h>

#include "client/gateway/http/client.h"
#include "client/gateway/http/places.h"
#include "client/gateway/http/server.h"

struct http_connection {
	struct http_connection *prev, *next;
	int fd;               /* libmicrohttpd's */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none, a handler has it */
	bool is_idle;         /* until then */
	bool has_begun;       /* a request line was there */
	bool is_cut;          /* by us */
	bool has_place;
	struct http_client client; /* of no role */
};

struct http_server {
	struct http_server_options options;
	bool is_unix, is_local; /* where it listens */
	sd_event *loop;
	struct MHD_Daemon *mhd;
	sd_event_source *io, *timer, *sweep;
	struct http_connection *connections;
	struct http_places *places;    /* of connections */
	struct http_exchange *pending; /* suspended */
	size_t sending;                /* bytes of answers */
	struct http_message complaint; /* libmicrohttpd's last one */
	uint64_t n_complaints;         /* about requests that it has answered itself */
	bool is_retired;
	void (*drained)(void *userdata); /* NULL: it was called */
	void *drained_userdata;
};

enum exchange_state {
	EXCHANGE_NEW,
	EXCHANGE_READING, /* its body */
	EXCHANGE_ASKED,   /* the handler has it */
	EXCHANGE_READY,   /* `response` is to be sent */
	EXCHANGE_SENT,
};

struct http_exchange {
	struct http_exchange *prev, *next;
	struct http_server *server;
	struct MHD_Connection *mhd;
	enum exchange_state state;
	bool is_suspended;
	uint64_t n_complaints; /* the server's, when it began */
	int target_fault;
	struct http_target target;
	struct http_request request;
	const struct http_route *route;
	char *body;
	void (*cancel)(void *userdata);
	void *userdata;
	struct http_client client;
	struct http_places *places; /* NULL: it has none */
	sd_event_source *gone;
	struct MHD_Response *response;
	size_t response_length;
	unsigned status;
};

/* Has libmicrohttpd go on: without threads, a resumed connection does not wake it. */
void server_wake(struct http_server *s);

/* MHD_NotifyConnectionCallback; and the timer of the deadlines. */
void connections_note(void *userdata, struct MHD_Connection *mhd, void **context,
		      enum MHD_ConnectionNotificationCode code);
int connections_handle_sweep(sd_event_source *source, uint64_t usec, void *userdata);
/* Ends those without a request, and the retirement after the last one. */
void connections_retire(struct http_server *s);
#define SWEEP_US 500000u
bool connection_is_cut(struct MHD_Connection *mhd);
void connection_set_deadline(struct MHD_Connection *mhd, uint64_t deadline_ns);
/* Of a request that begins now; and between two. */
void connection_begin_request(struct http_server *s, struct MHD_Connection *mhd);
void connection_rest(struct http_server *s, struct MHD_Connection *mhd);
int connection_fd(struct MHD_Connection *mhd);

/* libmicrohttpd's MHD_OPTION_URI_LOG_CALLBACK, _NOTIFY_COMPLETED, MHD_AccessHandlerCallback. */
void *exchange_note_target(void *userdata, const char *uri, struct MHD_Connection *mhd);
void exchange_note_completed(void *userdata, struct MHD_Connection *mhd, void **context,
			     enum MHD_RequestTerminationCode code);
enum MHD_Result exchange_handle(void *userdata, struct MHD_Connection *mhd, const char *url,
				const char *method, const char *version, const char *data,
				size_t *size, void **context);
/* The first one of this name; NULL: there is none. */
const char *exchange_header(const struct http_exchange *x, const char *name);
/* Cancels what the handler does, and answers with an error. */
void exchange_abandon(struct http_exchange *x, unsigned status, const char *reason);
/*
 * Has the client ask for @location, with a cookie. @by_page: by a page of ours, not by the status:
 * a browser that another site has sent here would follow that without the cookie
 * (SameSite=Strict).
 */
void exchange_redirect(struct http_exchange *x, const char *location, const char *cookie,
		       bool by_page);
/* admit.c: whether a request is not let in; then its answer is ready. */
bool exchange_refuse(struct http_exchange *x, const char *method);

#endif
