/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_REQUEST_H
#define PROFD_WORKER_REQUEST_H

/* A request as protocol.h describes it. Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/worker/protocol.h"

struct request {
	struct worker_request_header header;
	int files[N_WORKER_FILES]; /* borrowed; -1: not this one */
	const uint8_t *payload;    /* borrowed; header.payload_length bytes, aligned to 8 bytes */
};

/*
 * @data: one message, aligned to 8 bytes; @fds: those that came with it. False for anything that
 * protocol.h does not describe: kind, flags, files that the kind needs and has no use for, payload.
 * *ret's header is filled in from so much of it as there is, in either case.
 */
bool request_parse(const uint8_t *data, size_t length, const int *fds, size_t n_fds,
		   struct request *ret);

#endif
