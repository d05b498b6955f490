/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_SERVE_LOOP_H
#define PROFD_WORKER_SERVE_LOOP_H

/* The worker's side of the socket: protocol.h. */
#include <stdint.h>

#include "daemon/worker/serve.h"

/* Past one of these, a worker has done enough when it has answered. */
struct serve_limits {
	uint64_t cpu_ns;     /* CPU time that this process has used */
	uint64_t keep_bytes; /* of heap that it still holds */
};

/*
 * Says that the worker is up, then answers requests on @socket until the other end is closed, or
 * a limit is passed. Returns 0 or negative errno.
 */
int serve_loop(struct cache *cache, int socket, const struct serve_limits *limits);

#endif
