/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_FRONT_H
#define PROFD_CLIENT_GATEWAY_FRONT_H

/*
 * HTTP as [http] of the configuration has it, from one configuration to the next: what is served
 * (routes.h) and its counters stay, and so does a request that has begun.
 */
#include <systemd/sd-event.h>

#include "client/gateway/http/credentials.h" /* struct http_message */
#include "common/cleanup.h"

struct config;
struct exports;
struct front;

enum {
	FRONT_E_OK,
	FRONT_E_BAD,    /* see the message */
	FRONT_E_ABSENT, /* the same; its address may come later */
};

/* Serves nothing yet. @exports: for the metrics; borrowed. 0 or negative errno. */
int front_new(struct front **ret, sd_event *loop, const struct exports *exports);
/*
 * Serves what @config asks for from now on; on any failure, what it did before. Who may ask for
 * what changes at once, also on connections that are open. These are left alone unless the address
 * or the certificate changes: then they end with the request that has begun. Another
 * `control_socket` than that of the first call has no effect. FRONT_E_* or negative errno.
 */
int front_configure(struct front *f, const struct config *config, struct http_message *message);
/* Takes NULL. */
void front_free(struct front *f);
DEFINE_CLEANUP(struct front *, front_free)

#endif
