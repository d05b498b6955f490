/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_HTTP_H
#define PROFD_CLIENT_FETCH_HTTP_H

/*
 * HTTP requests for a program that may hold capabilities: it does not speak to servers itself, but
 * starts profd-gateway for that, as client/fetch/fetcher.h does, which drops all it holds
 * first. Both http:// and https:// URLs, redirections among them, proxies of the environment (but
 * for this host itself). What comes is a stranger's.
 *
 * One request at a time; several at once take several of these. Not thread-safe; starts nothing
 * before the first request.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/fetch/fetch_protocol.h"
#include "common/cleanup.h"

struct http;

struct http_request {
	const char *url;
	const uint8_t *body; /* what is posted; NULL: nothing, it is a GET */
	size_t length;
	uint64_t timeout_ms; /* for all of it */
	uint64_t max_bytes;  /* of the answer's body */
	/* For https, paths of PEM files, which are read here, by whoever we are; "" or NULL: none.
	 */
	const char *certificate, *key, *authorities;
	bool is_insecure; /* whoever the server is */
};

struct http_answer {
	unsigned status; /* 200 ... */
	int fd;          /* the body: read-only memory, at its beginning; the caller's */
};

enum {
	HTTP_E_OK,
	HTTP_E_FAILED, /* the message says why */
};

struct http_message {
	char text[FETCH_TEXT_MAX]; /* one line, without the URL */
};

/* @path: of profd-gateway; NULL: found as worker.h finds the image worker. 0 or negative errno. */
int http_new(struct http **ret, const char *path);
/* Ends its process. Takes NULL. */
void http_free(struct http *h);
DEFINE_CLEANUP(struct http *, http_free)

/*
 * Sends a request; blocks only for starting the program. HTTP_E_* or negative errno; -EBUSY where
 * another one was not received.
 */
int http_send(struct http *h, const struct http_request *request, struct http_message *message);
/*
 * Receives its answer; blocks until it is there, a little longer than the request's timeout at
 * most. An answer of whatever status is HTTP_E_OK. HTTP_E_* or negative errno.
 */
int http_receive(struct http *h, struct http_answer *ret, struct http_message *message);

#endif
