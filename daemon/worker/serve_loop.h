/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_SERVE_LOOP_H
#define PROFD_WORKER_SERVE_LOOP_H

/* The worker's side of the socket: protocol.h. */
#include <stdint.h>

#include "daemon/worker/serve.h"

/*
 * Says that the worker is up, then answers requests on @socket until the other end is closed, or
 * until this process has used @cpu_ns of CPU time. Returns 0 or negative errno.
 */
int serve_loop(struct server *s, int socket, uint64_t cpu_ns);

#endif
