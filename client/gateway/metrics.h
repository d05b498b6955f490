/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_METRICS_H
#define PROFD_CLIENT_GATEWAY_METRICS_H

/*
 * profd's status as Prometheus reads it: its text format 0.0.4, or OpenMetrics 1.0.0, which names
 * counters otherwise, has a type for what never changes, and an end. A metric is a row of a table.
 * Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "client/gateway/export/exporter.h"
#include "client/gateway/function_cpu.h"
#include "client/gateway/http/http.h"
#include "client/gateway/service_cpu.h"
#include "control.pb-c.h"

#define METRICS_TEXT        "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct metrics_source {
	const Profd__Control__Status *status;
	const struct service_cpu *services;
	const struct http_counters *http;     /* the gateway's own */
	const struct function_cpu *functions; /* NULL: none are asked for */
	uint64_t functions_failed;            /* times that windows could not be read for them */
	const struct exporter_counters *exports;
	size_t n_exports;
};

/* *ret is malloc'ed. 0 or -ENOMEM. */
int metrics_print(const struct metrics_source *from, bool is_openmetrics, char **ret,
		  size_t *ret_length);
/*
 * Whether a client that accepts @accept (RFC 9110, section 12.5.1) would rather have OpenMetrics
 * 1.0.0 than text.
 */
bool metrics_wants_openmetrics(const char *accept);

#endif
