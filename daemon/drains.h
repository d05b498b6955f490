/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_DRAINS_H
#define PROFD_DAEMON_DRAINS_H

/* When rings are drained: handlers of d->source_io, d->rest_timer and d->drain_timer. */
#include <stdint.h>
#include <systemd/sd-event.h>

#define DRAIN_NS      100000000u
#define RINGS_REST_NS 2000000u

struct daemon;

int daemon_on_source(sd_event_source *source, int fd, uint32_t events, void *userdata);
/* The same of d->shim, whose rings are its processes'. */
int daemon_on_shim(sd_event_source *source, int fd, uint32_t events, void *userdata);
int daemon_on_drain_timer(sd_event_source *source, uint64_t usec, void *userdata);
/* They have rested. */
int daemon_on_rest_timer(sd_event_source *source, uint64_t usec, void *userdata);
/*
 * Rings that woke profd at @woken_ns are drained: they rest if that was soon after d->drained_ns.
 * Returns 0 or negative errno.
 */
int daemon_rest_rings(struct daemon *d, uint64_t woken_ns);

#endif
