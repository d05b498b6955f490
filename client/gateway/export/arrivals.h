/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_ARRIVALS_H
#define PROFD_CLIENT_GATEWAY_EXPORT_ARRIVALS_H

/*
 * Asks profd, every few seconds, which windows it has stored since it was last asked; or once, for
 * those of a range. Nothing here waits.
 */
#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "common/cleanup.h"

struct arrivals;

struct arrivals_options {
	sd_event *loop;
	const char *socket;   /* profd's */
	const char *services; /* a pattern of their names */
	const char *name;     /* of the target, for the log */
	uint64_t since_ns,
		until_ns; /* Unix time; until 0: what is stored from then on, without end */
	/* A window's path below the store, and its size. Some come more than once. 0 or -ENOMEM. */
	int (*add)(void *userdata, const char *file, uint64_t bytes);
	/* An answer's windows were added, or there was none. */
	void (*listed)(void *userdata);
	void *userdata;
};

/* All of @options is borrowed. 0 or negative errno. */
int arrivals_new(struct arrivals **ret, const struct arrivals_options *options);
/* Takes NULL. */
void arrivals_free(struct arrivals *s);
DEFINE_CLEANUP(struct arrivals *, arrivals_free)

/* Windows that ended before were all added: Unix seconds. */
uint64_t arrivals_until(const struct arrivals *s);
/* All of the range were added. */
bool arrivals_is_complete(const struct arrivals *s);
/* profd did not answer the last time. */
bool arrivals_is_unread(const struct arrivals *s);

#endif
