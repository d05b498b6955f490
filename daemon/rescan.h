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

/* Begins one, unless one is on or it is too early: false. */
bool rescan_begin(struct daemon_rescan *r, uint64_t now_ns);
/* A part was done from @began_ns to @now_ns. False: there are no more, and it has ended. */
bool rescan_part_done(struct daemon_rescan *r, uint64_t began_ns, uint64_t now_ns, bool is_more);

/* Begins one if it is due; once a second. Returns 0 or negative errno. */
int daemon_rescan(struct daemon *d, uint64_t now_ns);
/* Handler of d->rescan_timer: a part. */
int daemon_on_rescan_timer(sd_event_source *source, uint64_t usec, void *userdata);

#endif
