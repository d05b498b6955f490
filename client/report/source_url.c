/* SPDX-License-Identifier: MIT */
/*
 * A URL is split into pieces of the text, and the URLs to fetch are formatted from the pieces, with
 * the query's seconds replaced by those of the options.
 */
#include "client/report/source_url.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/fetch/fetch_protocol.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/profile/pprof.h"
#include "common/text_print.h"

#define GO_PROFILE  "/debug/pprof/profile"
#define GO_DIR      "/debug/pprof/"
#define LOCALHOST   "localhost"
#define SECONDS     "seconds="
#define USUAL_S     60 /* if nobody says how long */
#define MORE_S      5  /* for everything but the profile itself, as pprof has it */
#define MS_PER_S    1000
#define PORT_DIGITS 5

/* A piece of a text. */
struct piece {
	const char *at;
	size_t length;
};

#define P(piece) (int)(piece).length, (piece).at

struct source_url_parts {
	const char *scheme;
	struct piece user; /* with its @ */
	struct piece host; /* with its port */
	struct piece path, query;
	bool is_insecure;
};

void source_url_free(struct source_url *url)
{
	if (!url)
		return;
	free(url->request);
	free(url->shown);
	free(url->symbols);
	free(url->command);
	free(url);
}

/* --- splitting -------------------------------------------------------------------------------- */

static struct piece piece_to(const char *from, const char *end)
{
	return (struct piece){from, (size_t)(end - from)};
}

static bool piece_equals(const struct piece *p, const char *text)
{
	return p->length == strlen(text) && strncasecmp(p->at, text, p->length) == 0;
}

/* HOST:PORT, which may be followed by a path or a query; the host may be missing, or in brackets.
 */
static bool is_host_and_port(const char *text)
{
	const char *end = text + strcspn(text, "/?#"), *port = end;
	const char *c = text;

	while (port > text && isdigit((unsigned char)port[-1]))
		port--;
	if (port == end || end - port > PORT_DIGITS || port == text || port[-1] != ':')
		return false;
	port--;
	if (*c == '[')
		return port > c + 2 && port[-1] == ']' &&
		       strspn(c + 1, "0123456789abcdefABCDEF:.") == (size_t)(port - c) - 2;
	while (c < port && (isalnum((unsigned char)*c) || strchr("-._", *c)))
		c++;
	return c == port;
}

/* SOURCE_URL_E_*. @text without its scheme, if it had one. */
static int source_url_split(const char *text, struct source_url_parts *p,
			    struct profile_message *message)
{
	const char *end = text + strcspn(text, "/?#");
	const char *at = memrchr(text, '@', (size_t)(end - text));

	p->user = piece_to(text, at ? at + 1 : text);
	p->host = piece_to(at ? at + 1 : text, end);
	p->path = piece_to(end, end + strcspn(end, "?#"));
	p->query = (struct piece){"", 0};
	end = p->path.at + p->path.length;
	if (*end == '?')
		p->query = piece_to(end + 1, end + 1 + strcspn(end + 1, "#"));
	if (!p->host.length)
		return profile_refuse(message, SOURCE_URL_E_BAD, "this URL names no host");
	for (const char *c = text; *c; c++)
		if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
			return profile_refuse(message, SOURCE_URL_E_BAD,
					      "a URL has no blanks; write %%20");
	return SOURCE_URL_E_OK;
}

static int parse_scheme(const char *text, struct source_url_parts *ret, const char **ret_rest,
			struct profile_message *message)
{
	const char *colon = strstr(text, "://");
	struct piece scheme;

	*ret = (struct source_url_parts){.scheme = "http"};
	*ret_rest = text;
	if (!colon || colon == text)
		return is_host_and_port(text) ? SOURCE_URL_E_OK : SOURCE_URL_E_NONE;
	scheme = piece_to(text, colon);
	for (size_t i = 0; i < scheme.length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("+-.", text[i]))
			return SOURCE_URL_E_NONE;
	*ret_rest = colon + 3;
	ret->is_insecure = piece_equals(&scheme, "https+insecure");
	if (piece_equals(&scheme, "https") || ret->is_insecure)
		ret->scheme = "https";
	else if (!piece_equals(&scheme, "http"))
		return profile_refuse(message, SOURCE_URL_E_BAD,
				      "profiles are fetched by http and https, not by %.*s",
				      (int)(scheme.length < 20 ? scheme.length : 20), text);
	return SOURCE_URL_E_OK;
}

/* --- the query -------------------------------------------------------------------------------- */

static struct piece next_value(struct piece *rest)
{
	const char *end = memchr(rest->at, '&', rest->length);
	struct piece value = piece_to(rest->at, end ? end : rest->at + rest->length);
	size_t used = value.length + (end != NULL);

	*rest = (struct piece){rest->at + used, rest->length - used};
	return value;
}

static bool is_seconds(const struct piece *value)
{
	return (value->length >= strlen(SECONDS) &&
		memcmp(value->at, SECONDS, strlen(SECONDS)) == 0) ||
	       piece_equals(value, "seconds");
}

static unsigned source_url_parse_seconds(struct piece query)
{
	while (query.length) {
		struct piece value = next_value(&query);
		const char *number = value.at + strlen(SECONDS);
		unsigned long seconds;
		char *end;

		if (!is_seconds(&value))
			continue;
		if (value.length <= strlen(SECONDS) || !isdigit((unsigned char)*number))
			return 0;
		seconds = strtoul(number, &end, 10);
		if (end != value.at + value.length)
			return 0;
		return seconds < SOURCE_URL_SECONDS_MAX ? (unsigned)seconds
							: SOURCE_URL_SECONDS_MAX;
	}
	return 0;
}

/* With its question mark, and @seconds in place of what says that. */
static int make_query(struct piece query, int64_t seconds, struct memory_text *ret)
{
	char before = '?';
	int r = memory_text_open(ret);

	if (r)
		return r;
	while (query.length) {
		struct piece value = next_value(&query);

		if (!value.length || (seconds && is_seconds(&value)))
			continue;
		fprintf(ret->out, "%c%.*s", before, P(value));
		before = '&';
	}
	if (seconds)
		fprintf(ret->out, "%cseconds=%" PRId64, before, seconds);
	return memory_text_close(ret);
}

/* --- what is made of them --------------------------------------------------------------------- */

static bool source_url_is_legacy_page(const struct piece *path)
{
	static const char *const pages[] = {"/pprof/heap", "/pprof/growth", "/pprof/profile",
					    "/pprof/pmuprofile", "/pprof/contention"};

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		size_t n = strlen(pages[i]);

		if (path->length >= n && memcmp(path->at + path->length - n, pages[i], n) == 0)
			return true;
	}
	return false;
}

/* The directory of a path, with its slash. */
static struct piece source_url_directory(struct piece path)
{
	while (path.length > 1 && path.at[path.length - 1] == '/')
		path.length--;
	while (path.length > 1 && path.at[path.length - 1] != '/')
		path.length--;
	return path;
}

/* With the host that is this machine where none is named; then @path and @rest. */
static int source_url_format(char **ret, const struct source_url_parts *p, struct piece path,
			     const char *rest)
{
	return text_print(ret, "%s://%.*s%s%.*s%.*s%s", p->scheme, P(p->user),
			  *p->host.at == ':' ? LOCALHOST : "", P(p->host), P(path), rest);
}

static int make_pages(struct source_url *url, const struct source_url_parts *p)
{
	struct piece dir = source_url_directory(p->path);

	if (!memmem(p->path.at, p->path.length, GO_DIR, strlen(GO_DIR)) &&
	    !source_url_is_legacy_page(&p->path))
		return source_url_format(&url->symbols, p, dir, "symbolz");
	return source_url_format(&url->symbols, p, dir, "symbol")
		       ?: source_url_format(&url->command, p, dir, "cmdline");
}

static int make_url(struct source_url *url, struct source_url_parts *p, int64_t seconds)
{
	cleanup(memory_text_deinit) struct memory_text query = {0};
	struct source_url_parts shown;
	int r = make_query(p->query, seconds, &query);

	if (!p->path.length || piece_equals(&p->path, "/"))
		p->path = (struct piece){GO_PROFILE, strlen(GO_PROFILE)};
	shown = *p;
	shown.user.length = 0;
	return r ?:
		source_url_format(&url->request, p, p->path, query.text) ?:
		source_url_format(&url->shown, &shown, p->path, query.text) ?:
		make_pages(url, p);
}

static void set_times(struct source_url *url, const struct source_url_parts *p,
		      const struct source_url_times *times)
{
	uint64_t timeout_s = (uint64_t)times->timeout_s;

	url->seconds = times->seconds ? (unsigned)times->seconds
				      : source_url_parse_seconds(p->query);
	url->names_ms = ((timeout_s ? timeout_s : USUAL_S) + MORE_S) * MS_PER_S;
	if (!timeout_s)
		timeout_s = url->seconds ? url->seconds + url->seconds / 2 : USUAL_S;
	url->timeout_ms = (timeout_s + MORE_S) * MS_PER_S;
}

int source_url_parse(const char *text, const struct source_url_times *times,
		     struct source_url **ret, struct profile_message *message)
{
	cleanup(source_url_freep) struct source_url *url = NULL;
	struct source_url_parts parts;
	const char *rest;
	int r = parse_scheme(text, &parts, &rest, message)
			?: source_url_split(rest, &parts, message);

	if (r)
		return r;
	url = calloc(1, sizeof(*url));
	if (!url)
		return error_origin(-ENOMEM);
	url->is_insecure = parts.is_insecure;
	set_times(url, &parts, times);
	r = make_url(url, &parts, times->seconds);
	if (r)
		return r;
	if (strlen(url->request) > HTTP_URL_MAX)
		return profile_refuse(message, SOURCE_URL_E_BAD, "a URL of more than %u bytes",
				      HTTP_URL_MAX);
	*ret = steal_ptr(&url);
	return SOURCE_URL_E_OK;
}
