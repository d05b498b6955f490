/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_EXPORTS_REPORT_H
#define PROFD_DAEMON_EXPORTS_REPORT_H

/*
 * What profd-gateway reports of its exports, for `status`: the gateway alone knows them, and people
 * ask profd. Good for a minute; the gateway reports every ten seconds.
 */
#include <stddef.h>
#include <stdint.h>

#include "daemon/control/control.h"

/* Zeroes: none. */
struct exports_report {
	uint8_t *packed; /* a Profd__Control__Exports */
	size_t length;
	uint64_t reported_ns; /* CLOCK_MONOTONIC */
};

enum {
	EXPORTS_REPORT_E_OK,
	EXPORTS_REPORT_E_BAD, /* too many, or with names that none has */
};

/* In place of what there is. EXPORTS_REPORT_E_* or -ENOMEM. */
int exports_report_set(struct exports_report *r, const Profd__Control__Exports *exports,
		       uint64_t now_ns);
/* *ret: to be freed by profd__control__exports__free_unpacked(); NULL: there are none. 0 or
 * -ENOMEM. */
int exports_report_get(const struct exports_report *r, uint64_t now_ns,
		       Profd__Control__Exports **ret);
void exports_report_deinit(struct exports_report *r);

#endif
