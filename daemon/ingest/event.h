/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_EVENT_H
#define PROFD_INGEST_EVENT_H

/* What the sources need of event.c, beside event_parse() in sources.h. */
#include <linux/perf_event.h>

#include "daemon/ingest/source.h"

/* The attributes of @spec's event and rate, disabled, without any sample type. */
void event_attr(const struct sampler_spec *spec, struct perf_event_attr *ret);
/*
 * Whether :u and :k are the source's to apply. The clocks count on while the other half runs
 * and drop only the ticks, so that the kernel's own exclusion would look like skipped ticks.
 */
bool event_excludes_by_source(const struct event *event);
/* Ticks a second on one CPU that @spec can be expected to cause at most. */
uint64_t event_ticks_per_second(const struct sampler_spec *spec);
/* kernel.perf_event_paranoid; 0 if it cannot be read. */
int event_paranoid_level(void);
/*
 * Puts what a failed perf_event_open(2) (negative errno) means into @message. Returns SOURCE_E_* or
 * @err, where it is nothing that the user can do something about.
 */
int event_explain(int err, const struct sampler_spec *spec, struct source_message *message);

#endif
