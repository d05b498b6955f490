/* SPDX-License-Identifier: MIT */
/*
 * Whether a request is let in: by its Host and site, its credentials, what it asks for, how. A
 * token comes before the site: who has one may be sent here from anywhere, by a file that a browser
 * opens.
 */
#include <string.h>

#include "client/gateway/http/guard.h"
#include "client/gateway/http/server_private.h"

#define UNIX_ADDRESS ((const struct sockaddr *)&(const struct sockaddr){.sa_family = AF_UNIX})

struct header_count {
	const char *name;
	unsigned n;
};

static enum MHD_Result count_header(void *userdata, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct header_count *count = userdata;

	(void)kind, (void)value;
	count->n += strcasecmp(name, count->name) == 0;
	return MHD_YES;
}

/* NULL: it is not there once. */
static const char *admit_single_header(struct http_exchange *x, const char *name)
{
	struct header_count count = {name, 0};

	MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, count_header, &count);
	return count.n == 1 ? MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, name) : NULL;
}

static bool admit_has_own_host(struct http_exchange *x, const char *host)
{
	char *const *allowed = x->server->options.access->allowed_hosts;
	struct sockaddr_storage own = {0};
	socklen_t length = sizeof(own);

	if (x->server->is_unix)
		return http_host_is_own(host, UNIX_ADDRESS, allowed);
	return getsockname(connection_fd(x->mhd), (struct sockaddr *)&own, &length) == 0 &&
	       http_host_is_own(host, (const struct sockaddr *)&own, allowed);
}

static enum http_role admit_role(const struct http_server *s, const char *authorization)
{
	const struct http_credentials *credentials = s->options.access->credentials;

	if (s->is_unix)
		return HTTP_ROLE_READ;
	if (!credentials && s->is_local)
		return HTTP_ROLE_METRICS;
	return http_credentials_find(credentials, authorization);
}

static void admit_find_route(struct http_exchange *x)
{
	const struct http_route *route = x->server->options.routes;

	for (; route->path; route++) {
		if (http_target_matches(&x->target, route->path, &x->request.wild)) {
			x->route = route;
			return;
		}
	}
}

static bool admit_refuse_without_ticket(struct http_exchange *x)
{
	const struct http_ticket *ticket = x->server->options.access->ticket;

	if (http_ticket_is_shown(ticket, exchange_header(x, MHD_HTTP_HEADER_COOKIE)))
		return false;
	http_exchange_fail(x, MHD_HTTP_UNAUTHORIZED,
			   *ticket->token
				   ? "open the address that profctl web printed"
				   : "this browser has not opened the address that profctl web "
				     "printed; that works once: run profctl web again");
	if (x->response)
		MHD_add_response_header(x->response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Cookie realm=\"profd\"");
	return true;
}

/* An answer where it is not allowed; false: it is. */
static bool admit_refuse_role(struct http_exchange *x, enum http_role wanted)
{
	const char *authorization = exchange_header(x, MHD_HTTP_HEADER_AUTHORIZATION);
	enum http_role role;

	if (x->server->options.access->ticket)
		return admit_refuse_without_ticket(x);
	role = admit_role(x->server, authorization);
	if (role >= wanted) {
		x->client = http_client_of(connection_fd(x->mhd), role);
		return false;
	}
	if (!x->server->options.access->credentials) {
		http_exchange_fail(x, MHD_HTTP_FORBIDDEN,
				   "profiles need credentials_file in [http] of profd.conf, or a "
				   "Unix socket");
		return true;
	}
	if (role != HTTP_ROLE_NONE) {
		http_exchange_fail(x, MHD_HTTP_FORBIDDEN, "these credentials only allow /metrics");
		return true;
	}
	http_exchange_fail(x, MHD_HTTP_UNAUTHORIZED, "credentials are %s",
			   authorization ? "not known" : "needed");
	if (x->response) {
		MHD_add_response_header(x->response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Basic realm=\"profd\", charset=\"UTF-8\"");
		MHD_add_response_header(x->response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Bearer realm=\"profd\"");
	}
	return true;
}

static bool admit_refuse_body(struct http_exchange *x)
{
	const char *length = exchange_header(x, MHD_HTTP_HEADER_CONTENT_LENGTH);

	if (!x->request.is_post && ((length && strcmp(length, "0") != 0) ||
				    exchange_header(x, MHD_HTTP_HEADER_TRANSFER_ENCODING))) {
		http_exchange_fail(x, MHD_HTTP_BAD_REQUEST, "a GET has no body");
		return true;
	}
	if (x->request.is_post &&
	    (!length || strlen(length) > 9 || strtoul(length, NULL, 10) > HTTP_BODY_MAX)) {
		http_exchange_fail(x,
				   length ? MHD_HTTP_CONTENT_TOO_LARGE : MHD_HTTP_LENGTH_REQUIRED,
				   "a POST needs Content-Length, of at most %u bytes",
				   HTTP_BODY_MAX);
		return true;
	}
	return false;
}

static struct http_origin admit_origin(struct http_exchange *x)
{
	return (struct http_origin){
		.host = admit_single_header(x, MHD_HTTP_HEADER_HOST),
		.origin = exchange_header(x, MHD_HTTP_HEADER_ORIGIN),
		.sec_fetch_site = exchange_header(x, "Sec-Fetch-Site"),
	};
}

static bool admit_refuse_host(struct http_exchange *x, const char *host)
{
	if (!host)
		http_exchange_fail(x, MHD_HTTP_BAD_REQUEST, "exactly one Host header is required");
	else if (!admit_has_own_host(x, host))
		http_exchange_fail(x, MHD_HTTP_FORBIDDEN,
				   "unknown host; see allowed_hosts in profd.conf");
	return x->state == EXCHANGE_READY;
}

/* @links: whether those on pages of other sites are let in. */
static bool admit_refuse_site(struct http_exchange *x, const struct http_origin *headers,
			      bool links)
{
	if (!http_is_cross_site(headers) ||
	    (links && http_is_link(exchange_header(x, "Sec-Fetch-Mode"),
				   exchange_header(x, "Sec-Fetch-Dest"))))
		return false;
	http_exchange_fail(x, MHD_HTTP_FORBIDDEN, "cross-site request refused");
	return true;
}

/* The first request: its token becomes a cookie, and what it asks for is asked for without it. */
static bool admit_redeem(struct http_exchange *x, const char *method,
			 const struct http_origin *headers)
{
	struct http_ticket *ticket = x->server->options.access->ticket;
	const char *token = x->target_fault ? NULL : http_target_param(&x->target, "token");
	char location[HTTP_PRINTED_MAX + 1], cookie[HTTP_TICKET_HEADER_SIZE];

	if (!ticket || !token || strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return false;
	if (!http_ticket_redeem(ticket, token) &&
	    !http_ticket_is_shown(ticket, exchange_header(x, MHD_HTTP_HEADER_COOKIE)))
		return admit_refuse_without_ticket(x);
	http_target_print(&x->target, "token", location, sizeof(location));
	http_ticket_print_cookie(ticket, cookie);
	exchange_redirect(x, location, cookie, http_is_cross_site(headers));
	return true;
}

static bool admit_refuse_target(struct http_exchange *x)
{
	if (x->target_fault == HTTP_TARGET_E_OK)
		return false;
	if (x->target_fault == HTTP_TARGET_E_TOO_LONG)
		http_exchange_fail(x, MHD_HTTP_URI_TOO_LONG, "the path or query is too long");
	else
		http_exchange_fail(x, MHD_HTTP_BAD_REQUEST, "the path or query is malformed");
	return true;
}

static bool admit_refuse_method(struct http_exchange *x, const char *method)
{
	static const char *const allowed[] = {
		[0] = "GET",
		[HTTP_TAKES_HEAD] = "GET, HEAD",
		[HTTP_TAKES_POST] = "GET, POST",
		[HTTP_TAKES_HEAD | HTTP_TAKES_POST] = "GET, HEAD, POST",
	};
	unsigned takes = x->route->takes & (HTTP_TAKES_HEAD | HTTP_TAKES_POST);

	x->request.is_post = strcmp(method, MHD_HTTP_METHOD_POST) == 0;
	if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
	    (strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 && takes & HTTP_TAKES_HEAD) ||
	    (x->request.is_post && takes & HTTP_TAKES_POST))
		return false;
	http_exchange_fail(x, MHD_HTTP_METHOD_NOT_ALLOWED, "allowed here: %s", allowed[takes]);
	if (x->response)
		MHD_add_response_header(x->response, MHD_HTTP_HEADER_ALLOW, allowed[takes]);
	return true;
}

static bool admit_refuse_repeated(struct http_exchange *x)
{
	if (!x->target.is_repeated || x->route->takes & HTTP_TAKES_REPEATED)
		return false;
	http_exchange_fail(x, MHD_HTTP_BAD_REQUEST, "a parameter is given twice");
	return true;
}

/* Whether it is not let in, with the answer ready. */
bool exchange_refuse(struct http_exchange *x, const char *method)
{
	const struct http_origin headers = admit_origin(x);

	if (admit_refuse_host(x, headers.host) || admit_redeem(x, method, &headers) ||
	    admit_refuse_site(x, &headers, true) || admit_refuse_role(x, HTTP_ROLE_METRICS) ||
	    admit_refuse_target(x))
		return true;
	admit_find_route(x);
	if (!x->route) {
		http_exchange_fail(x, MHD_HTTP_NOT_FOUND, "there is nothing at this path");
		return true;
	}
	return admit_refuse_site(x, &headers, x->route->takes & HTTP_TAKES_LINKS) ||
	       admit_refuse_role(x, x->route->role) || admit_refuse_method(x, method) ||
	       admit_refuse_repeated(x) || admit_refuse_body(x);
}
