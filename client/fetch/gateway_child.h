/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_GATEWAY_CHILD_H
#define PROFD_CLIENT_FETCH_GATEWAY_CHILD_H

/*
 * A profd-gateway of our own, which fetches one thing at a time: what fetcher.h and http.h have in
 * common. It is started by the first request, and again by one that finds that it has ended since
 * its last answer. When it fails, or its answer is malformed, it is ended.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/fetch/fetch_protocol.h"
#include "common/helper/child.h"
#include "common/helper/fd_packet.h"

struct fetcher_options;

struct gateway_child {
	const char *mode; /* its first argument; borrowed */
	char *path, *urls, *cache_directory;
	struct child child;
	int socket; /* our end; -1: none */
	bool is_asked;
};

/*
 * Starts nothing yet; @options are copied. Returns 0 or negative errno; *g is to be given to
 * gateway_child_deinit() in any case.
 */
int gateway_child_init(struct gateway_child *g, const char *mode,
		       const struct fetcher_options *options);
void gateway_child_deinit(struct gateway_child *g);
/* Ends its process, which cleans up and has 2 s for that, and forgets what was asked. */
void gateway_child_stop(struct gateway_child *g);

/*
 * Sends a request; blocks only for starting the program. FETCHER_E_OK, _FAILED or negative errno;
 * -EBUSY where another one was not received. @why: below.
 */
int gateway_child_send(struct gateway_child *g, const void *request, size_t size, const int *fds,
		       size_t n_fds, char why[FETCH_TEXT_MAX]);
/*
 * Waits for its answer until CLOCK_MONOTONIC is @until_ns. An answer without a file is a success,
 * too. *ret_files is to be given to fd_packet_deinit() in any case. FETCHER_E_OK or _FAILED.
 */
int gateway_child_receive(struct gateway_child *g, uint64_t until_ns, struct fetch_answer *ret,
			  struct fd_packet *ret_files, char why[FETCH_TEXT_MAX]);
/* It is of no use any more: ends it. @why: how it ended, or @what it does. FETCHER_E_FAILED. */
int gateway_child_fail(struct gateway_child *g, const char *what, char why[FETCH_TEXT_MAX]);

#endif
