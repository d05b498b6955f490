/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_FETCH_FETCH_H
#define PROFD_CLIENT_GATEWAY_FETCH_FETCH_H

/*
 * `profd-gateway --fetch`: asks debuginfod servers by libdebuginfod, in a process of its own, for
 * the fetcher at the other end of a socket (client/fetch/fetch_protocol.h). All that speaks TCP
 * is below here.
 *
 * libdebuginfod takes what it needs to know from the environment (debuginfod-client-config(7)), and
 * keeps files in a cache: the user's own one; or, with a directory given or where the user has none
 * (user_cache_is_usable()), one of our own, which holds one file and goes with us.
 */
#include <stdbool.h>

#include "client/fetch/fetch_protocol.h"

/* For whom there is no own cache; everybody may make a directory there. */
#define FETCH_TEMPORARY "/var/tmp"

/*
 * Whether there is a cache of the user's that can be written, where debuginfod_find_debuginfo(3)
 * looks for it: it is made if need be. Where there is none, libdebuginfod says the same as if the
 * servers had no file.
 */
bool user_cache_is_usable(void);

/*
 * Answers until @socket is closed. @dir: for what is fetched, which is on the disk before it is
 * answered; NULL: the user's cache, or below FETCH_TEMPORARY if @has_cache is false. Sets
 * environment variables: the caller has no other thread. Returns 0 or negative errno; or ends the
 * process with 0 when the socket is closed while a server is waited for.
 */
int fetch_serve(int socket, const char *dir, bool has_cache);

/*
 * `profd-gateway --http`: makes HTTP requests by libcurl, for the program at the other end of
 * @socket, until it is closed. It knows nothing of what is in them. Returns 0 or negative errno.
 */
int requests_serve(int socket);

/* An answer without a file; the text is one line for people. */
void fetch_answer_set(struct fetch_answer *answer, enum fetch_outcome outcome, const char *format,
		      ...) __attribute__((format(printf, 3, 4)));

#endif
