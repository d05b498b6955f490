/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_FETCH_REQUESTS_H
#define PROFD_CLIENT_GATEWAY_FETCH_REQUESTS_H

/*
 * `profd-gateway --http`: makes HTTP requests by libcurl, in a process of its own, for whoever is
 * at the other end of a socket (client/fetch/http_protocol.h). It knows nothing of what is in them.
 */

/* Answers until @socket is closed. Returns 0 or negative errno. */
int requests_serve(int socket);

#endif
