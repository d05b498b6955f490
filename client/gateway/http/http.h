/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_HTTP_H
#define PROFD_CLIENT_GATEWAY_HTTP_HTTP_H

/*
 * What is served: a table of routes. A handler gets a request that was let in, and answers it once,
 * at once or later from the same loop. If the client is gone before, its callback is called
 * instead (http_exchange_on_cancel()), and it must not answer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/gateway/http/credentials.h"
#include "client/gateway/http/target.h"

#define HTTP_BODY_MAX 65536u /* bytes, of a request */

struct http_request {
	const struct http_target *target;
	const char *wild;   /* what the route's `*` is; NULL: it has none */
	const char *accept; /* the header's value, or "" */
	bool is_post;
	const char *body; /* what was posted, with a NUL behind it */
	size_t body_length;
};

struct http_exchange;

/* Of requests that no handler gets, and connections that end without one. */
enum http_refusal {
	HTTP_REFUSED_MALFORMED,
	HTTP_REFUSED_TOO_LARGE,
	HTTP_REFUSED_INCOMPLETE, /* the client hung up before its end */
	HTTP_REFUSED_NO_REQUEST, /* the same, without a request line */
	HTTP_REFUSED_CONNECTION, /* one too many of a client */
	HTTP_REFUSALS,
};

/* Since the start. */
struct http_counters {
	uint64_t requests[6]; /* that were answered, by the first digit of the status */
	uint64_t slow;        /* connections that were cut, as the client was too slow */
	uint64_t refused[HTTP_REFUSALS];
	uint64_t connections; /* now */
};

struct http_places;

enum {
	HTTP_TAKES_HEAD = 1, /* answered as GET is, without its body */
	HTTP_TAKES_POST = 2,
	HTTP_TAKES_REPEATED = 4, /* parameters: its handler knows which counts */
	HTTP_TAKES_LINKS = 8,    /* may be where a link on a page of another site leads */
};

struct http_route {
	const char *path; /* a pattern: http_target_matches(); NULL: the end of the table */
	enum http_role role;
	unsigned takes; /* HTTP_TAKES_*, besides GET */
	void (*handle)(struct http_exchange *x, void *userdata);
};

/* Valid until it is answered or cancelled. */
const struct http_request *http_exchange_request(const struct http_exchange *x);
void http_exchange_on_cancel(struct http_exchange *x, void (*cancel)(void *userdata),
			     void *userdata);
/*
 * Has one of @places until the client has taken the answer, or is gone. False: there is none for
 * it, and it was answered with 429, about @what.
 */
bool http_exchange_take_place(struct http_exchange *x, struct http_places *places,
			      const char *what);
/*
 * With 200. @body is malloc'ed, and taken over; NULL where there was no memory for it, or too much
 * is being sent: 503.
 */
void http_exchange_reply(struct http_exchange *x, const char *content_type, char *body,
			 size_t length);
/* What is the same for all clients, and as long as the program runs. */
struct http_document {
	const char *content_type;
	const char *etag;   /* as the header has it, in quotes */
	const char *policy; /* Content-Security-Policy: what browsers let it do */
	const unsigned char *body;
	size_t length;
};
/* With 200, or 304 to a client that has it. Its body is borrowed for good. */
void http_exchange_reply_document(struct http_exchange *x, const struct http_document *document);
/* With an error: one line of text. */
void http_exchange_fail(struct http_exchange *x, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
