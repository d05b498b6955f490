/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_CLIENT_H
#define PROFD_CLIENT_GATEWAY_HTTP_CLIENT_H

/*
 * Who is at the other end, as far as limits for each client go: the user of a Unix socket; an IPv4
 * address; the first 64 bits of an IPv6 address, all of which one host may have; this machine, be
 * it by whatever loopback address. Of a role each is another client: behind a proxy, those who read
 * profiles do not keep Prometheus out.
 */
#include <stdbool.h>
#include <stdint.h>

#include "client/gateway/http/credentials.h" /* enum http_role */

struct http_client {
	uint16_t family; /* AF_* */
	uint16_t role;   /* enum http_role */
	uint8_t id[8];
};

/* Of a connected socket. One that is closed already has the id 0. */
struct http_client http_client_of(int fd, enum http_role role);
bool http_clients_are_equal(const struct http_client *a, const struct http_client *b);

#endif
