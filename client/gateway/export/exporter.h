/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_EXPORTER_H
#define PROFD_CLIENT_GATEWAY_EXPORT_EXPORTER_H

/*
 * Sends each stored window of each service to one target ([export NAME] in profd.conf(5)), as it is
 * written. What waits is in profd's store: nothing is copied but what the target has (progress.h).
 * At least once: only a request whose answer was lost, or was a fault of the target, is sent again.
 */
#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "common/cleanup.h"

struct config_export;
struct exporter;

struct exporter_options {
	sd_event *loop;
	const char *socket; /* profd's */
	const struct config_export *config;
	const char *directory; /* where it notes what it has sent */
	/*
	 * Instead, those of a range, once, and nothing is noted: Unix time, 0: those that come.
	 * When all were sent, or given up, `done` is called from the loop.
	 */
	uint64_t since_ns, until_ns;
	void (*done)(void *userdata);
	void *userdata;
};

struct exporter_counters {
	const char *name; /* of the target; borrowed */
	uint64_t sent_windows, sent_requests, sent_bytes;
	uint64_t retried;                /* windows that are sent once more */
	uint64_t repeated;               /* of them: the target may have stored a part before */
	uint64_t refused, dropped, gone; /* windows: by the target, for room, by the store */
	uint64_t waiting, waiting_bytes, held; /* windows now */
	uint64_t lag_s;                        /* since the oldest one that waits ended */
	bool is_unread;                        /* profd did not say what it has stored */
	bool is_failing;                       /* the target did not take the last request */
};

enum {
	EXPORTER_E_OK,
	EXPORTER_E_BAD, /* it cannot begin; logged */
};

/* All of @options is borrowed for as long as it lasts. EXPORTER_E_* or negative errno. */
int exporter_new(struct exporter **ret, const struct exporter_options *options);
/* Takes NULL. */
void exporter_free(struct exporter *e);
DEFINE_CLEANUP(struct exporter *, exporter_free)

void exporter_get_counters(const struct exporter *e, struct exporter_counters *ret);

#endif
