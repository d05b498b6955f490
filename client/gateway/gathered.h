/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_GATHERED_H
#define PROFD_CLIENT_GATEWAY_GATHERED_H

/*
 * Profiles that arrive one after the other and are to be one: a viewer (api/viewer.h) merges them,
 * in the end, and whenever there are many. What waits for it is bounded.
 */
#include <stddef.h>

#include "client/gateway/view/view_protocol.h"
#include "common/cleanup.h"

struct gathered;
struct viewer_result;
struct viewers;

/* @viewers: borrowed. 0 or negative errno. */
int gathered_new(struct gathered **ret, struct viewers *viewers);
/* Takes NULL. */
void gathered_free(struct gathered *g);
DEFINE_CLEANUP(struct gathered *, gathered_free)

/* Returns NULL, or what is wrong: then all is. */
const char *gathered_add(struct gathered *g, const void *data, size_t length);
/*
 * No more of them: `done` is called once, with a result as of a viewer, and may free it; it may be
 * called at once.
 */
void gathered_finish(struct gathered *g, const struct view_merge *merge,
		     void (*done)(void *userdata, struct viewer_result *result), void *userdata);

#endif
