/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_PRIVATE_H
#define PROFD_CLIENT_GATEWAY_PRIVATE_H

#include "common/cleanup.h"

/*
 * profd-gateway for `profctl web`, which started it (client/web/web_protocol.h): serves what the
 * service does (routes.h), to one person, on loopback or a Unix socket. That person opens an
 * address with a token (http/ticket.h).
 */

struct private_front;

/*
 * Listens at @listen (port 0: one that the kernel chooses), which may be a path in a
 * directory that only the user of the parent process may write to. What is wrong with it is
 * reported by private_run(). Returns 0 or -ENOMEM.
 */
int private_front_new(struct private_front **ret, const char *listen);
/* Takes NULL. */
void private_front_free(struct private_front *f);
DEFINE_CLEANUP(struct private_front *, private_front_free)
/*
 * Serves until the parent process exits, or SIGTERM. Returns an exit status; the parent process has
 * the reason.
 */
int private_run(struct private_front *f);

#endif
