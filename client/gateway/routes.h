/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_ROUTES_H
#define PROFD_CLIENT_GATEWAY_ROUTES_H

/* All that is served, a row of a table each, and what handles it. */
#include <systemd/sd-event.h>

#include "client/gateway/http/http.h"
#include "common/cleanup.h"

/* What the routes' handlers have as their userdata. */
struct exports;
struct served;
struct source_files;
struct view_origin;

extern const struct http_route routes[];

/* @socket: profd's; copied. 0 or negative errno. */
int served_new(struct served **ret, sd_event *loop, const char *socket);
/* As of scraper_set_functions(). */
int served_set_functions(struct served *s, uint32_t max);
/* For the metrics; borrowed. */
void served_set_exports(struct served *s, const struct exports *exports);
/* Unix time: what they serve is a store that nothing is added to (view/present.h). */
void served_set_end(struct served *s, uint64_t end_ns);
/* As of api_set_origin(). */
void served_set_origin(struct served *s, const struct view_origin *origin);
/* As of api_set_sources(). */
void served_set_sources(struct served *s, const struct source_files *sources);
/* Of all servers that serve them, as long as it lives. */
struct http_counters *served_counters(struct served *s);
/* After the servers. Takes NULL. */
void served_free(struct served *s);
DEFINE_CLEANUP(struct served *, served_free)

#endif
