/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_RESCAN_H
#define PROFD_DAEMON_RESCAN_H

/* /proc is looked at anew, in parts, after process events were lost. */
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct daemon;

/* Times in nanoseconds of CLOCK_MONOTONIC. */
struct daemon_rescan {
	bool is_on;
	uint64_t took_ns; /* what all its parts took */
	uint64_t next_ns; /* none before then */
};

/* Begins one if it is due; once a second. Returns 0 or negative errno. */
int daemon_rescan(struct daemon *d, uint64_t now_ns);
/* Handler of d->rescan_timer: a part. */
int daemon_on_rescan_timer(sd_event_source *source, uint64_t usec, void *userdata);

#endif
