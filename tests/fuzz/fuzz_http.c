/* SPDX-License-Identifier: MIT */
/*
 * What a stranger sends, as far as it is ours to read: the target of a request line, and on lines
 * behind it Host, Origin or Cookie, Authorization, Accept.
 */
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/gateway/http/complaint.h"
#include "client/gateway/http/credentials.h"
#include "client/gateway/http/guard.h"
#include "client/gateway/http/target.h"
#include "client/gateway/http/ticket.h"
#include "client/gateway/metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_TEXT "metrics name 0123456789abcdef\nread other fedcba9876543210\n"

/* What is printed is parsed to the same, and leads to no other host. */
static void check_printed(const struct http_target *t)
{
	char text[HTTP_PRINTED_MAX + 1];
	struct http_target again;
	size_t length = http_target_print(t, "", text, sizeof(text));

	if (length >= sizeof(text) || text[0] != '/' || text[1] == '/')
		abort();
	if (length + HTTP_PARAMS_MAX + 1 > HTTP_TARGET_MAX)
		return;
	if (http_target_parse(text, length, &again) || again.n_segments != t->n_segments ||
	    again.n_params > t->n_params)
		abort();
	for (size_t i = 0; i < t->n_segments; i++)
		if (strcmp(again.segments[i], t->segments[i]) != 0)
			abort();
	/* In their order, but for the one without a name. */
	for (size_t i = 0, j = 0; i < again.n_params; i++, j++) {
		while (j < t->n_params && !*t->params[j].name)
			j++;
		if (j == t->n_params || strcmp(again.params[i].name, t->params[j].name) != 0 ||
		    strcmp(again.params[i].value, t->params[j].value) != 0)
			abort();
	}
}

static void check_target(const char *raw)
{
	static const char *const patterns[] = {"/", "/metrics", "/pid/*/debug/pprof/profile"};
	struct http_target t;
	const char *wild;

	if (http_target_parse(raw, strlen(raw), &t))
		return;
	if (t.n_segments > HTTP_SEGMENTS_MAX || t.n_params > HTTP_PARAMS_MAX)
		abort();
	for (size_t i = 0; i < t.n_segments; i++)
		if (!*t.segments[i] || strcmp(t.segments[i], "..") == 0 ||
		    t.segments[i] + strlen(t.segments[i]) >= t.text + sizeof(t.text))
			abort();
	for (size_t i = 0; i < t.n_params; i++)
		if (!t.is_repeated && http_target_param(&t, t.params[i].name) != t.params[i].value)
			abort();
	check_printed(&t);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		http_target_matches(&t, patterns[i], &wild);
}

static void check_headers(char *const lines[4])
{
	const struct sockaddr_in own = {.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 own6 = {.sin6_family = AF_INET6,
					  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	static char name[] = "profiles.example";
	char *const allowed[] = {name, NULL};
	static const struct http_ticket ticket = {.cookie = "00", .name = "profd-80"};
	struct http_credentials *c = NULL;
	struct http_message message;

	http_host_is_own(lines[0], (const struct sockaddr *)&own, allowed);
	http_host_is_own(lines[0], (const struct sockaddr *)&own6, allowed);
	http_ticket_is_shown(&ticket, lines[1]);
	http_is_link(lines[0], lines[1]);
	http_is_cross_site(&(struct http_origin){lines[0], lines[1], NULL});
	if (http_credentials_parse(&c, FILE_TEXT, strlen(FILE_TEXT), "file", &message))
		abort();
	if (http_credentials_find(c, lines[2]) != HTTP_ROLE_NONE &&
	    strncasecmp(lines[2], "b", 1) != 0)
		abort();
	http_credentials_free(c);
	/* The same as a file. */
	c = NULL;
	http_credentials_parse(&c, lines[2], strlen(lines[2]), "file", &message);
	http_credentials_free(c);
	metrics_wants_openmetrics(lines[3]);
	if (http_complaint_status(lines[3]) > 599)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text, *lines[4];
	char empty[] = "";

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	check_target(strsep(&rest, "\n"));
	for (size_t i = 0; i < 4; i++)
		lines[i] = rest ? strsep(&rest, "\n") : empty;
	check_headers(lines);
	free(text);
	return 0;
}
