/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_REPORT_H
#define PROFD_CLIENT_GATEWAY_EXPORT_REPORT_H

/* Reports to profd every ten seconds what was sent, so that `profctl status` shows it. */
#include <systemd/sd-event.h>

struct export_report;
struct exports;

/* All borrowed; @socket: profd's. 0 or negative errno. */
int export_report_new(struct export_report **ret, sd_event *loop, const char *socket,
		      const struct exports *exports);
/* Takes NULL. */
void export_report_free(struct export_report *r);

#endif
