/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_USAGE_EVENTS_H
#define PROFD_OUTPUT_USAGE_EVENTS_H

/* What happened in a range, of the windows that say so. Losses of a step are one. */
#include "control.pb-c.h"

#define USAGE_EVENTS_MAX 200u

struct usage_events {
	uint64_t since_ns, until_ns;
	double step_ns;
	Profd__Control__UsageEvent **all; /* owned */
	size_t n;
};

void usage_events_deinit(struct usage_events *u);
/*
 * @events: of a file that begins at @start_s (window_events.h). @service: whose it is; NULL: only
 * what concerns all services is asked for. What there is no room for is left out. 0 or negative
 * errno.
 */
int usage_events_add(struct usage_events *u, const char *events, uint64_t start_s,
		     const char *service);
/* Moves them into @table, by time. */
void usage_events_list(struct usage_events *u, Profd__Control__UsageTable *table);

#endif
