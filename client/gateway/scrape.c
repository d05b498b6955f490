/* SPDX-License-Identifier: MIT */
#include "client/gateway/scrape.h"

#include <errno.h>
#include <string.h>

#include "client/gateway/call/profd_call.h"
#include "client/gateway/export/exports.h"
#include "client/gateway/function_feed.h"
#include "client/gateway/http/places.h"
#include "client/gateway/metrics.h"
#include "client/gateway/service_cpu.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/error.h"

#define TIMEOUT_MS         10000u
#define SCRAPES_MAX        8u /* at once */
#define SCRAPES_CLIENT_MAX 4u /* for one client */

struct scraper {
	sd_event *loop;
	const char *socket;
	struct service_cpu *services;
	struct function_feed *functions; /* NULL: none are wanted */
	uint32_t max_functions;
	const struct exports *exports; /* NULL: there are none */
	const struct http_counters *http;
	struct http_places *places;
	bool is_listing; /* one at a time; what others show of services is what was known */
};

struct scrape {
	struct scraper *scraper;
	struct http_exchange *x;
	struct profd_call *status, *list;
	const Profd__Control__Response *response; /* of the status */
	bool is_listing;
	uint64_t since_ns; /* of the second listing */
};

int scraper_new(struct scraper **ret, sd_event *loop, const char *socket,
		const struct http_counters *http)
{
	cleanup(scraper_freep) struct scraper *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	s->loop = sd_event_ref(loop);
	s->socket = socket;
	s->http = http;
	r = service_cpu_new(&s->services)
		    ?: http_places_new(&s->places, SCRAPES_MAX, SCRAPES_CLIENT_MAX);
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return 0;
}

void scraper_free(struct scraper *s)
{
	if (!s)
		return;
	service_cpu_free(s->services);
	function_feed_free(s->functions);
	http_places_free(s->places);
	sd_event_unref(s->loop);
	free(s);
}

int scraper_set_functions(struct scraper *s, uint32_t max)
{
	cleanup(function_feed_freep) struct function_feed *feed = NULL;
	int r = 0;

	if (max == s->max_functions)
		return 0;
	if (max)
		r = function_feed_new(&feed, s->loop, s->socket, max);
	if (r)
		return r;
	function_feed_free(s->functions);
	s->functions = steal_ptr(&feed);
	s->max_functions = max;
	return 0;
}

void scraper_set_exports(struct scraper *s, const struct exports *exports)
{
	s->exports = exports;
}

static void scrape_free(void *userdata)
{
	struct scrape *s = userdata;

	profd_call_free(s->status);
	profd_call_free(s->list);
	if (s->is_listing)
		s->scraper->is_listing = false;
	free(s);
}

static void scrape_answer(struct scrape *s)
{
	const struct scraper *scraper = s->scraper;
	struct exporter_counters exports[CONFIG_EXPORTS_MAX];
	struct metrics_source source = {
		.status = s->response->status,
		.services = scraper->services,
		.http = scraper->http,
		.functions = scraper->functions ? function_feed_functions(scraper->functions)
						: NULL,
		.functions_failed = scraper->functions ? function_feed_failed(scraper->functions)
						       : 0,
		.exports = exports,
		.n_exports = scraper->exports ? exports_count(scraper->exports) : 0,
	};
	bool is_openmetrics = metrics_wants_openmetrics(http_exchange_request(s->x)->accept);
	char *text = NULL;
	size_t length = 0;

	for (size_t i = 0; i < source.n_exports; i++)
		exports_get_counters(scraper->exports, i, &exports[i]);
	if (metrics_print(&source, is_openmetrics, &text, &length))
		text = NULL;
	http_exchange_reply(s->x, is_openmetrics ? METRICS_OPENMETRICS : METRICS_TEXT, text,
			    length);
	scrape_free(s);
}

static void scrape_list(struct scrape *s, uint64_t since_ns);

static void scrape_take_listing(void *userdata, const struct profd_answer *answer)
{
	struct service_cpu *services = ((struct scrape *)userdata)->scraper->services;
	uint64_t now_ns = clock_ns(CLOCK_REALTIME), since_ns = 0;
	struct scrape *s = userdata;

	/* Without it, services have the CPU time that they had. */
	if (answer->outcome == PROFD_CALL_DONE && s->since_ns)
		service_cpu_move(services, answer->response->listing, s->since_ns);
	else if (answer->outcome == PROFD_CALL_DONE &&
		 service_cpu_update(services, answer->response->listing, now_ns, &since_ns))
		since_ns = 0;
	if (!since_ns) {
		scrape_answer(s);
		return;
	}
	s->since_ns = since_ns;
	scrape_list(s, since_ns);
}

static void scrape_list(struct scrape *s, uint64_t since_ns)
{
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;
	const struct profd_call_options options = {
		.loop = s->scraper->loop,
		.socket = s->scraper->socket,
		.verb = PROFD__CONTROL__REQUEST__VERB_LIST,
		.message = &list,
		.result = PROFD__CONTROL__RESPONSE__RESULT_LISTING,
		.timeout_ms = TIMEOUT_MS,
		.done = scrape_take_listing,
		.userdata = s,
	};

	list.since_ns = since_ns;
	profd_call_free(s->list);
	s->list = NULL;
	if (profd_call_new(&s->list, &options))
		scrape_answer(s);
}

static void scrape_take_status(void *userdata, const struct profd_answer *answer)
{
	struct scrape *s = userdata;
	struct scraper *scraper = s->scraper;

	if (answer->outcome != PROFD_CALL_DONE) {
		http_exchange_fail(s->x, 503, "%s", answer->message);
		scrape_free(s);
		return;
	}
	s->response = answer->response;
	if (scraper->functions)
		function_feed_ask(scraper->functions);
	if (scraper->is_listing) {
		scrape_answer(s);
		return;
	}
	s->is_listing = scraper->is_listing = true;
	scrape_list(s, service_cpu_since(scraper->services, clock_ns(CLOCK_REALTIME)));
}

void scraper_handle(struct scraper *scraper, struct http_exchange *x)
{
	struct scrape *s;
	struct profd_call_options options = {
		.loop = scraper->loop,
		.socket = scraper->socket,
		.verb = PROFD__CONTROL__REQUEST__VERB_STATUS,
		.result = PROFD__CONTROL__RESPONSE__RESULT_STATUS,
		.timeout_ms = TIMEOUT_MS,
		.done = scrape_take_status,
	};

	if (!http_exchange_take_place(x, scraper->places, "scrapes"))
		return;
	s = calloc(1, sizeof(*s));
	if (!s) {
		http_exchange_fail(x, 503, "out of memory");
		return;
	}
	options.userdata = s;
	s->scraper = scraper;
	s->x = x;
	http_exchange_on_cancel(x, scrape_free, s);
	if (profd_call_new(&s->status, &options)) {
		http_exchange_fail(x, 503, "out of memory");
		scrape_free(s);
	}
}
