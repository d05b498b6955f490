/* SPDX-License-Identifier: MIT */
#include "client/gateway/export/report.h"

#include <errno.h>
#include <stdlib.h>

#include "client/gateway/call/profd_call.h"
#include "client/gateway/export/exports.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/log.h"

#define INTERVAL_US (10 * 1000000u)
#define ACCURACY_US 500000u
#define TIMEOUT_MS  30000u

struct export_report {
	sd_event *loop;
	const char *socket;
	const struct exports *exports;
	sd_event_source *tick;
	struct profd_call *call;
};

/* That profd is away, or is another version, shows elsewhere. */
static void export_report_ignore(void *userdata, const struct profd_answer *answer)
{
	(void)userdata, (void)answer;
}

static void export_report_fill(const struct exporter_counters *from, Profd__Control__Export *to)
{
	profd__control__export__init(to);
	to->name = (char *)from->name;
	to->failing = from->is_failing;
	to->lag_seconds = from->lag_s;
	to->waiting_windows = from->waiting;
	to->waiting_bytes = from->waiting_bytes;
	to->sent_windows = from->sent_windows;
	to->refused_windows = from->refused;
	to->dropped_windows = from->dropped + from->gone;
	to->held_windows = from->held;
}

static int export_report_send(struct export_report *r)
{
	Profd__Control__Export all[CONFIG_EXPORTS_MAX], *pointers[CONFIG_EXPORTS_MAX];
	Profd__Control__Exports message = PROFD__CONTROL__EXPORTS__INIT;
	const struct profd_call_options options = {
		.loop = r->loop,
		.socket = r->socket,
		.verb = PROFD__CONTROL__REQUEST__VERB_EXPORTS,
		.message = &message,
		.result = PROFD__CONTROL__RESPONSE__RESULT_OK,
		.timeout_ms = TIMEOUT_MS,
		.done = export_report_ignore,
		.userdata = r,
	};

	for (size_t i = 0; i < exports_count(r->exports); i++) {
		struct exporter_counters counters;

		exports_get_counters(r->exports, i, &counters);
		export_report_fill(&counters, &all[i]);
		pointers[message.n_exports++] = &all[i];
	}
	message.exports = pointers;
	profd_call_free(r->call);
	r->call = NULL;
	return profd_call_new(&r->call, &options);
}

static int export_report_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct export_report *report = userdata;
	int r = sd_event_source_set_time_relative(source, INTERVAL_US), sent;

	(void)usec;
	if (r >= 0)
		r = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	sent = export_report_send(report);
	if (sent)
		log_warning("exports cannot be reported: %s", error_describe(sent));
	return r < 0 ? sd_event_exit(report->loop, error_origin(r)) : 0;
}

int export_report_new(struct export_report **ret, sd_event *loop, const char *socket,
		      const struct exports *exports)
{
	struct export_report *report = calloc(1, sizeof(*report));
	int r;

	if (!report)
		return error_origin(-ENOMEM);
	*report = (struct export_report){.loop = loop, .socket = socket, .exports = exports};
	r = sd_event_add_time_relative(loop, &report->tick, CLOCK_MONOTONIC, 0, ACCURACY_US,
				       export_report_tick, report);
	if (r < 0) {
		export_report_free(report);
		return error_origin(r);
	}
	*ret = report;
	return 0;
}

void export_report_free(struct export_report *r)
{
	if (!r)
		return;
	profd_call_free(r->call);
	sd_event_source_disable_unref(r->tick);
	free(r);
}
