/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_PROFILES_H
#define PROFD_CLIENT_GATEWAY_PROFILES_H

/*
 * What profilers' clients ask a program for, of the machine, a process or a service: as Go's
 * net/http/pprof has it (profile.proto), and as gperftools has it (its own format, with names by
 * address).
 */
#include <systemd/sd-event.h>

#include "client/gateway/http/http.h"
#include "common/cleanup.h"

struct profiles;

#define PROFILES_MAX        16u /* that are made or sent at the same time */
#define PROFILES_CLIENT_MAX 8u  /* for one client */

/* @socket: profd's; borrowed. 0 or negative errno. */
int profiles_new(struct profiles **ret, sd_event *loop, const char *socket);
/* Unix time: of a store that nothing is added to (view/present.h). */
void profiles_set_end(struct profiles *p, uint64_t end_ns);
/* After all that it handles was answered or cancelled. Takes NULL. */
void profiles_free(struct profiles *p);
DEFINE_CLEANUP(struct profiles *, profiles_free)

void profiles_handle_pprof(struct profiles *p, struct http_exchange *x);
void profiles_handle_legacy(struct profiles *p, struct http_exchange *x);
void profiles_handle_symbol(struct profiles *p, struct http_exchange *x);
void profiles_handle_cmdline(struct profiles *p, struct http_exchange *x);

#endif
