/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_GUARD_H
#define PROFD_CLIENT_GATEWAY_HTTP_GUARD_H

/*
 * What a browser may not be made to do by pages from elsewhere: ask this server by a name that its
 * attacker has made to resolve to us (DNS rebinding), or on behalf of another site (Fetch Metadata,
 * w3c.github.io/webappsec-fetch-metadata; RFC 6454). Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/*
 * Whether @host, of the header Host, means this server: the address that the connection came to
 * (@own), `localhost` if that is loopback or a Unix socket, or one of @allowed (NULL-terminated),
 * whatever its port, which may be a forwarded one.
 */
bool http_host_is_own(const char *host, const struct sockaddr *own, char *const *allowed);

/* Loopback, as far as Unix sockets are: only this machine reaches it. */
bool http_address_is_local(const struct sockaddr *address);

/* Of headers, NULL where there is none. */
struct http_origin {
	const char *host, *origin, *sec_fetch_site;
};

/* Whether a page of another site sends this request, as browsers mark it. */
bool http_is_cross_site(const struct http_origin *headers);
/*
 * Whether a request of another site only leads the browser elsewhere, in a window of its own, so
 * that the page it comes from sees nothing of the answer. By Sec-Fetch-Mode and Sec-Fetch-Dest, or
 * NULL.
 */
bool http_is_link(const char *mode, const char *destination);

#endif
