/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_SCRAPE_H
#define PROFD_CLIENT_GATEWAY_SCRAPE_H

/* GET /metrics: profd is asked for its status, and for the CPU time of services. */
#include <systemd/sd-event.h>

#include "client/gateway/http/http.h"
#include "common/cleanup.h"

struct exports;
struct scraper;

/* @socket: profd's; @http: the gateway's own; both borrowed. 0 or negative errno. */
int scraper_new(struct scraper **ret, sd_event *loop, const char *socket,
		const struct http_counters *http);
/* After all that it handles was answered or cancelled. Takes NULL. */
void scraper_free(struct scraper *s);
DEFINE_CLEANUP(struct scraper *, scraper_free)

/*
 * How many functions have their CPU time in the metrics. Another number than before has their
 * counters begin anew. 0 or negative errno.
 */
int scraper_set_functions(struct scraper *s, uint32_t max);
/* Whose counters the metrics have, from now on; borrowed. */
void scraper_set_exports(struct scraper *s, const struct exports *exports);
void scraper_handle(struct scraper *s, struct http_exchange *x);

#endif
