/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include <utlist.h>

#include "client/gateway/http/server_private.h"
#include "common/clock.h"
#include "common/utf8.h"

#define REASON_MAX 300
#define TEXT_PLAIN "text/plain; charset=utf-8"
/* No fault of ours, so that it is not counted as one; nobody reads it. */
#define CLIENT_IS_GONE 499

const char *exchange_header(const struct http_exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, name);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void exchange_set_headers(struct MHD_Response *response, const struct http_document *d)
{
	/* What may be kept is asked for again each time, by its ETag. */
	const char *const headers[][2] = {
		{MHD_HTTP_HEADER_CONTENT_TYPE, d->content_type},
		{MHD_HTTP_HEADER_CACHE_CONTROL, d->etag ? "no-cache" : "no-store"},
		{MHD_HTTP_HEADER_ETAG, d->etag},
		{"X-Content-Type-Options", "nosniff"},
		{"Content-Security-Policy", d->policy},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Referrer-Policy", "no-referrer"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (headers[i][1])
			MHD_add_response_header(response, headers[i][0], headers[i][1]);
}

static enum MHD_Result exchange_send(struct http_exchange *x)
{
	struct MHD_Response *response = x->response;
	enum MHD_Result r;

	x->state = EXCHANGE_SENT;
	x->response = NULL;
	if (!response) /* no memory: the connection is closed */
		return MHD_NO;
	x->server->options.counters->requests[x->status / 100 % 6]++;
	connection_set_deadline(x->mhd, clock_ns(CLOCK_MONOTONIC) + HTTP_ANSWER_MS * NS_PER_MS +
						x->response_length / HTTP_ANSWER_BYTES * NS_PER_S);
	if (x->server->is_retired)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	r = MHD_queue_response(x->mhd, x->status, response);
	MHD_destroy_response(response);
	return r;
}

/* The handler's answer, which is sent when libmicrohttpd asks for it. @d's body is @response's. */
static void exchange_make_ready(struct http_exchange *x, unsigned status,
				struct MHD_Response *response, const struct http_document *d)
{
	x->cancel = NULL;
	x->status = status;
	x->response = response;
	x->response_length = d->length;
	x->state = EXCHANGE_READY;
	x->gone = sd_event_source_disable_unref(x->gone);
	x->server->sending += d->length;
	if (response)
		exchange_set_headers(response, d);
	if (!x->is_suspended)
		return;
	x->is_suspended = false;
	DL_DELETE(x->server->pending, x);
	MHD_resume_connection(x->mhd);
	server_wake(x->server);
}

/* @body is malloc'ed, and taken over; NULL: there was no memory for it. */
static void exchange_send_text(struct http_exchange *x, unsigned status, const char *content_type,
			       char *body, size_t length)
{
	struct http_document d = {.content_type = content_type,
				  .policy = "default-src 'none'; frame-ancestors 'none'",
				  .length = length};
	struct MHD_Response *response = NULL;

	if (body)
		response = MHD_create_response_from_buffer(length, body, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(body);
	exchange_make_ready(x, status, response, &d);
}

__attribute__((format(printf, 3, 0))) static void
exchange_fail_line(struct http_exchange *x, unsigned status, const char *format, va_list args)
{
	char line[REASON_MAX];
	char *body = NULL;
	int n;

	vsnprintf(line, sizeof(line), format, args);
	utf8_make_harmless(line, "");
	n = asprintf(&body, "%s\n", line);
	exchange_send_text(x, status, TEXT_PLAIN, n < 0 ? NULL : body, n < 0 ? 0 : (size_t)n);
}

void http_exchange_fail(struct http_exchange *x, unsigned status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	exchange_fail_line(x, status, format, args);
	va_end(args);
	if (x->response &&
	    (status == MHD_HTTP_TOO_MANY_REQUESTS || status == MHD_HTTP_SERVICE_UNAVAILABLE))
		MHD_add_response_header(x->response, MHD_HTTP_HEADER_RETRY_AFTER, "5");
}

void exchange_redirect(struct http_exchange *x, const char *location, const char *cookie,
		       bool by_page)
{
	static const char page[] = "<!DOCTYPE html><title>profd</title>\n";
	char refresh[HTTP_PRINTED_MAX + 16];
	char *body = strdup(page);

	exchange_send_text(x, by_page ? MHD_HTTP_OK : MHD_HTTP_SEE_OTHER,
			   "text/html; charset=utf-8", body, body ? sizeof(page) - 1 : 0);
	if (!x->response)
		return;
	snprintf(refresh, sizeof(refresh), "0; url=%s", location);
	MHD_add_response_header(x->response, by_page ? "Refresh" : MHD_HTTP_HEADER_LOCATION,
				by_page ? refresh : location);
	MHD_add_response_header(x->response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
}

void http_exchange_reply(struct http_exchange *x, const char *content_type, char *body,
			 size_t length)
{
	size_t sending = x->server->sending;

	if (!body) {
		http_exchange_fail(x, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
		return;
	}
	/* A single answer may be as large as it is. */
	if (length > HTTP_SMALL_MAX && sending && sending + length > HTTP_SENDING_MAX) {
		free(body);
		http_exchange_fail(x, MHD_HTTP_SERVICE_UNAVAILABLE, "too much is being sent");
		return;
	}
	exchange_send_text(x, MHD_HTTP_OK, content_type, body, length);
}

void http_exchange_reply_document(struct http_exchange *x, const struct http_document *document)
{
	const char *known = exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH);
	bool has_it = known && strstr(known, document->etag);
	struct http_document d = *document;

	if (has_it)
		d.length = 0;
	/* Persistent memory is only read. */
	exchange_make_ready(x, has_it ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK,
			    MHD_create_response_from_buffer(d.length, (void *)(uintptr_t)d.body,
							    MHD_RESPMEM_PERSISTENT),
			    &d);
}

const struct http_request *http_exchange_request(const struct http_exchange *x)
{
	return &x->request;
}

void http_exchange_on_cancel(struct http_exchange *x, void (*cancel)(void *userdata),
			     void *userdata)
{
	x->cancel = cancel;
	x->userdata = userdata;
}

bool http_exchange_take_place(struct http_exchange *x, struct http_places *places, const char *what)
{
	int r = http_places_take(places, &x->client);

	if (r == HTTP_PLACES_E_OK)
		x->places = places;
	else if (r == HTTP_PLACES_E_CLIENT)
		http_exchange_fail(x, MHD_HTTP_TOO_MANY_REQUESTS,
				   "too many concurrent %s of this client", what);
	else
		http_exchange_fail(x, MHD_HTTP_TOO_MANY_REQUESTS, "too many concurrent %s", what);
	return r == HTTP_PLACES_E_OK;
}

static void exchange_cancel(struct http_exchange *x)
{
	void (*cancel)(void *userdata) = x->cancel;

	x->cancel = NULL;
	if (cancel)
		cancel(x->userdata);
}

/* --- a request -------------------------------------------------------------------------------- */

void *exchange_note_target(void *userdata, const char *uri, struct MHD_Connection *mhd)
{
	struct http_exchange *x = calloc(1, sizeof(*x));

	connection_begin_request(userdata, mhd);
	if (!x)
		return NULL;
	x->server = userdata;
	x->n_complaints = x->server->n_complaints;
	x->mhd = mhd;
	x->target_fault = http_target_parse(uri, strlen(uri), &x->target);
	x->request.target = &x->target;
	return x;
}

void exchange_note_completed(void *userdata, struct MHD_Connection *mhd, void **context,
			     enum MHD_RequestTerminationCode code)
{
	struct http_exchange *x = *context;

	connection_rest(userdata, mhd);
	if (!x)
		return;
	/* What libmicrohttpd has answered was counted then. */
	if (x->state < EXCHANGE_ASKED && code != MHD_REQUEST_TERMINATED_COMPLETED_OK &&
	    x->n_complaints == x->server->n_complaints && !connection_is_cut(mhd))
		x->server->options.counters->refused[HTTP_REFUSED_INCOMPLETE]++;
	exchange_cancel(x);
	if (x->is_suspended)
		DL_DELETE(x->server->pending, x);
	sd_event_source_disable_unref(x->gone);
	if (x->response)
		MHD_destroy_response(x->response);
	x->server->sending -= x->response_length;
	if (x->places)
		http_places_leave(x->places, &x->client);
	free(x->body);
	free(x);
	*context = NULL;
}

void exchange_abandon(struct http_exchange *x, unsigned status, const char *reason)
{
	exchange_cancel(x);
	http_exchange_fail(x, status, "%s", reason);
}

/* The client has hung up; a half-closed connection counts as that, as for Go's net/http. */
static int exchange_handle_gone(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	exchange_abandon(userdata, CLIENT_IS_GONE, "client is gone");
	return 0;
}

static enum MHD_Result exchange_read_body(struct http_exchange *x, const char *data, size_t *size)
{
	size_t length = x->request.body_length;
	char *grown;

	if (*size > HTTP_BODY_MAX - length)
		return MHD_NO;
	grown = realloc(x->body, length + *size + 1);
	if (!grown)
		return MHD_NO;
	memcpy(grown + length, data, *size);
	x->body = grown;
	x->request.body_length += *size;
	*size = 0;
	return MHD_YES;
}

static enum MHD_Result exchange_ask(struct http_exchange *x)
{
	const char *accept = exchange_header(x, MHD_HTTP_HEADER_ACCEPT);
	struct http_server *s = x->server;

	x->request.accept = accept ? accept : "";
	x->request.body = "";
	if (x->body) {
		x->body[x->request.body_length] = '\0';
		x->request.body = x->body;
	}
	x->state = EXCHANGE_ASKED;
	x->route->handle(x, s->options.userdata);
	if (x->state == EXCHANGE_READY)
		return MHD_YES;
	if (sd_event_add_io(s->loop, &x->gone, connection_fd(x->mhd), EPOLLRDHUP,
			    exchange_handle_gone, x) < 0) {
		exchange_cancel(x);
		return MHD_NO;
	}
	connection_set_deadline(x->mhd, 0);
	x->is_suspended = true;
	DL_APPEND(s->pending, x);
	MHD_suspend_connection(x->mhd);
	return MHD_YES;
}

static bool exchange_has_body(const struct http_exchange *x)
{
	return exchange_header(x, MHD_HTTP_HEADER_CONTENT_LENGTH) ||
	       exchange_header(x, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

enum MHD_Result exchange_handle(void *userdata, struct MHD_Connection *mhd, const char *url,
				const char *method, const char *version, const char *data,
				size_t *size, void **context)
{
	struct http_exchange *x = *context;
	enum MHD_Result r = MHD_YES;

	(void)userdata, (void)mhd, (void)url, (void)version;
	if (!x)
		return MHD_NO;
	if (x->state == EXCHANGE_NEW) {
		if (!exchange_refuse(x, method))
			x->state = EXCHANGE_READING;
		/* What is answered before its end, libmicrohttpd reads no further, and hangs up. */
		if (x->state == EXCHANGE_READING || !exchange_has_body(x))
			return MHD_YES;
	} else if (x->state == EXCHANGE_READING && *size) {
		return exchange_read_body(x, data, size);
	} else if (x->state == EXCHANGE_READING) {
		r = exchange_ask(x);
	}
	return r == MHD_YES && x->state == EXCHANGE_READY ? exchange_send(x) : r;
}
