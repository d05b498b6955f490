/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_LANE_H
#define PROFD_CLIENT_GATEWAY_EXPORT_LANE_H

/*
 * Brings one stored window at a time to a target: profd is asked for its profile, a viewer
 * (api/viewer.h) makes request bodies of it, and they are posted one after the other, each noted as
 * soon as the target has it. Nothing here waits.
 */
#include <stdint.h>

#include <systemd/sd-event.h>

#include "client/gateway/export/progress.h"
#include "client/gateway/export/queue.h"

struct config_export;
struct export_lane;
struct export_target;
struct viewers;

enum lane_outcome {
	LANE_STORED,
	LANE_NOTHING, /* it has nothing to send */
	LANE_GONE,    /* the store has it no more */
	LANE_CHANGED, /* some parts are there, and it is not cut into the same ones any more */
	LANE_LATER,   /* profd or the target is away, or busy */
	LANE_REFUSED, /* it will never be taken */
	LANE_TOO_OLD,
	LANE_UNKNOWN, /* it failed, and it may be the window's fault */
};

struct lane_result {
	enum lane_outcome outcome;
	const char *message; /* one line, of a stranger maybe; "": none */
	uint64_t n_requests, n_bytes;
	uint64_t retry_after_s; /* that the target asked to be left alone; 0: it did not */
	bool may_be_stored;     /* the request that failed */
};

/* Borrowed, all of it, for as long as the lane is. */
struct lane_options {
	sd_event *loop;
	const char *socket; /* profd's */
	struct viewers *viewers;
	struct progress *progress;
	const struct export_target *target;
	const struct config_export *config;
	const char *headers;   /* "NAME: VALUE\n" each */
	const char *directory; /* for windows that are begun (begun.h); NULL: they are not kept */
	uint64_t until_ns; /* Unix time: later windows in rolled-up files are left out; 0: none */
	void (*done)(void *userdata, struct export_lane *lane, struct queued *window,
		     const struct lane_result *result);
	void *userdata;
};

/* @options is copied. 0 or negative errno. */
int export_lane_new(struct export_lane **ret, const struct lane_options *options);
/* What was under way is given up. Takes NULL. */
void export_lane_free(struct export_lane *l);
DEFINE_CLEANUP(struct export_lane *, export_lane_free)

/* Whether nothing is under way. */
bool export_lane_is_idle(const struct export_lane *l);
/* Begins with @window; `done` is called once, from the loop. */
void export_lane_start(struct export_lane *l, struct queued *window);
/* Ends the process that posts, which takes a while to begin. */
void export_lane_rest(struct export_lane *l);

#endif
