/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_API_API_H
#define PROFD_CLIENT_GATEWAY_API_API_H

/* GET /api/...: what the page shows, as JSON (README.md). */
#include <systemd/sd-event.h>

#include "client/gateway/http/http.h"
#include "client/gateway/view/question.h"
#include "common/cleanup.h"

struct api;
struct source_files;
struct view_origin;

struct api_options {
	sd_event *loop;
	const char *socket;  /* profd's; borrowed */
	const char *program; /* as viewers_options has it */
};

/* 0 or negative errno. */
int api_new(struct api **ret, const struct api_options *options);
/* Unix time: of a store that nothing is added to (view/present.h). */
void api_set_end(struct api *a, uint64_t end_ns);
/* Of what the profiles are (view_protocol.h); as before: a running profd. Copied. */
void api_set_origin(struct api *a, const struct view_origin *origin);
/* Where files are looked for whose lines are shown: NULL, as before: none is opened. Borrowed. */
void api_set_sources(struct api *a, const struct source_files *sources);
/* After all that it handles was answered or cancelled. Takes NULL. */
void api_free(struct api *a);
DEFINE_CLEANUP(struct api *, api_free)

void api_handle_machine(struct api *a, struct http_exchange *x);
void api_handle_usage(struct api *a, struct http_exchange *x);
/* A view of a profile. */
void api_handle_view(struct api *a, struct http_exchange *x, enum question_view view);

#endif
