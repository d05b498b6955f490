/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_LIVE_PROFILE_H
#define PROFD_CLIENT_GATEWAY_LIVE_PROFILE_H

/*
 * The samples of the next seconds: a session of profd's that is held by us and writes no files,
 * whose windows are taken as they come, and merged (gathered.h). If we end, so does the session.
 */
#include <stdint.h>

#include <systemd/sd-event.h>

#include "client/gateway/query.h"
#include "client/gateway/view/view_protocol.h"
#include "common/cleanup.h"

struct live_profile;
struct viewer_result;
struct viewers;

struct live_profile_options {
	sd_event *loop;
	const char *socket;      /* profd's; borrowed */
	struct query query;      /* with seconds */
	struct viewers *viewers; /* that merge; borrowed */
	struct view_merge merge; /* but for the times */
	void (*done)(void *userdata, struct viewer_result *result);
	void *userdata;
};

/* `done` is called once, from the loop, and may free it. 0 or negative errno. */
int live_profile_new(struct live_profile **ret, const struct live_profile_options *options);
/* Ends the session. Takes NULL. */
void live_profile_free(struct live_profile *l);
DEFINE_CLEANUP(struct live_profile *, live_profile_free)

#endif
