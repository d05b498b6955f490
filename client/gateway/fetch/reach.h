/* SPDX-License-Identifier: MIT */
#ifndef PROFD_GATEWAY_FETCH_REACH_H
#define PROFD_GATEWAY_FETCH_REACH_H

#include <stdbool.h>
#include <sys/socket.h>

/* Loopback, link-local, private or no address at all, also inside of IPv6 (RFC 6890). Pure. */
bool reach_is_inner(const struct sockaddr *address);

/*
 * From now on connect(2) to such an address fails with EACCES in this process, unless one of the
 * servers of DEBUGINFOD_URLS has one itself, or it is the proxy's: servers on the Internet must not
 * lead us by redirects or by their names to what only we can reach. For a process of its own; not
 * to be undone.
 */
void reach_restrict(void);

#endif
