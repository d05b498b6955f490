/* SPDX-License-Identifier: MIT */
#include "client/gateway/routes.h"

#include <errno.h>

#include "client/gateway/api/api.h"
#include "client/gateway/page.h"
#include "client/gateway/profiles.h"
#include "client/gateway/scrape.h"
#include "common/error.h"
#include "common/text_print.h"

struct served {
	char *socket;
	struct http_counters counters;
	struct scraper *scraper;
	struct profiles *profiles;
	struct api *api;
};

static void serve_metrics(struct http_exchange *x, void *userdata)
{
	scraper_handle(((struct served *)userdata)->scraper, x);
}

static void serve_pprof(struct http_exchange *x, void *userdata)
{
	profiles_handle_pprof(((struct served *)userdata)->profiles, x);
}

static void serve_legacy(struct http_exchange *x, void *userdata)
{
	profiles_handle_legacy(((struct served *)userdata)->profiles, x);
}

static void serve_symbol(struct http_exchange *x, void *userdata)
{
	profiles_handle_symbol(((struct served *)userdata)->profiles, x);
}

static void serve_cmdline(struct http_exchange *x, void *userdata)
{
	profiles_handle_cmdline(((struct served *)userdata)->profiles, x);
}

static void serve_machine(struct http_exchange *x, void *userdata)
{
	api_handle_machine(((struct served *)userdata)->api, x);
}

static void serve_usage(struct http_exchange *x, void *userdata)
{
	api_handle_usage(((struct served *)userdata)->api, x);
}

#define VIEW_SERVER(name, view)                                                        \
	static void serve_##name(struct http_exchange *x, void *userdata)              \
	{                                                                              \
		api_handle_view(((struct served *)userdata)->api, x, QUESTION_##view); \
	}

VIEW_SERVER(flame, FLAME)
VIEW_SERVER(top, TOP)
VIEW_SERVER(sandwich, SANDWICH)
VIEW_SERVER(source, SOURCE)
VIEW_SERVER(labels, LABELS)
VIEW_SERVER(heat, HEAT)

/* Of the machine, of a process, of a service. */
#define SCOPED(path, takes, handle)                                                            \
	{path, HTTP_ROLE_READ, takes, handle}, {"/pid/*" path, HTTP_ROLE_READ, takes, handle}, \
	{                                                                                      \
		"/service/*" path, HTTP_ROLE_READ, takes, handle                               \
	}
/* Headers alone are not worth a profile. */
#define NO_HEAD 0

const struct http_route routes[] = {
	{"/metrics", HTTP_ROLE_METRICS, HTTP_TAKES_HEAD, serve_metrics},
	{"/", HTTP_ROLE_READ, HTTP_TAKES_HEAD | HTTP_TAKES_LINKS, page_handle},
	{"/page/*", HTTP_ROLE_READ, HTTP_TAKES_HEAD, page_handle},
	/* Scrapers add `seconds` for each of their targets to parameters that all have. */
	SCOPED("/debug/pprof/profile", HTTP_TAKES_REPEATED, serve_pprof),
	SCOPED("/debug/pprof/symbol", HTTP_TAKES_HEAD | HTTP_TAKES_POST, serve_symbol),
	SCOPED("/pprof/profile", NO_HEAD, serve_legacy),
	SCOPED("/pprof/symbol", HTTP_TAKES_HEAD | HTTP_TAKES_POST, serve_symbol),
	SCOPED("/pprof/cmdline", HTTP_TAKES_HEAD, serve_cmdline),
	{"/api/machine", HTTP_ROLE_READ, HTTP_TAKES_HEAD, serve_machine},
	{"/api/usage", HTTP_ROLE_READ, NO_HEAD, serve_usage},
	{"/api/flame", HTTP_ROLE_READ, HTTP_TAKES_REPEATED, serve_flame},
	{"/api/top", HTTP_ROLE_READ, HTTP_TAKES_REPEATED, serve_top},
	{"/api/sandwich", HTTP_ROLE_READ, HTTP_TAKES_REPEATED, serve_sandwich},
	{"/api/source", HTTP_ROLE_READ, HTTP_TAKES_REPEATED, serve_source},
	{"/api/heat", HTTP_ROLE_READ, HTTP_TAKES_REPEATED, serve_heat},
	{"/api/labels", HTTP_ROLE_READ, HTTP_TAKES_REPEATED, serve_labels},
	{0},
};

int served_new(struct served **ret, sd_event *loop, const char *socket)
{
	cleanup(served_freep) struct served *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	r = text_copy(&s->socket, socket)
		    ?: scraper_new(&s->scraper, loop, s->socket, &s->counters)
		?: profiles_new(&s->profiles, loop, s->socket)
		?: api_new(&s->api, &(struct api_options){.loop = loop, .socket = s->socket});
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return 0;
}

int served_set_functions(struct served *s, uint32_t max)
{
	return scraper_set_functions(s->scraper, max);
}

void served_set_exports(struct served *s, const struct exports *exports)
{
	scraper_set_exports(s->scraper, exports);
}

void served_set_end(struct served *s, uint64_t end_ns)
{
	api_set_end(s->api, end_ns);
	profiles_set_end(s->profiles, end_ns);
}

void served_set_origin(struct served *s, const struct view_origin *origin)
{
	api_set_origin(s->api, origin);
}

void served_set_sources(struct served *s, const struct source_files *sources)
{
	api_set_sources(s->api, sources);
}

struct http_counters *served_counters(struct served *s)
{
	return &s->counters;
}

void served_free(struct served *s)
{
	if (!s)
		return;
	scraper_free(s->scraper);
	profiles_free(s->profiles);
	api_free(s->api);
	free(s->socket);
	free(s);
}
