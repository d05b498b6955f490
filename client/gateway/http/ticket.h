/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_TICKET_H
#define PROFD_CLIENT_GATEWAY_HTTP_TICKET_H

/*
 * How one person gets into a server that is for nobody else: with a token in the first address,
 * which works once and is exchanged for a cookie (RFC 6265). A browser sends cookies to all ports
 * of an address, so a cookie's name has the port.
 */
#include <stdbool.h>
#include <stdint.h>

#define HTTP_SECRET_BITS 192u
#define HTTP_SECRET_SIZE (HTTP_SECRET_BITS / 4 + 1) /* in hexadecimal, with its NUL */

struct http_ticket {
	char token[HTTP_SECRET_SIZE]; /* empty: it was used */
	char cookie[HTTP_SECRET_SIZE];
	char name[16]; /* of the cookie */
};

/* With new secrets; @port 0: none. Returns 0 or negative errno. */
int http_ticket_init(struct http_ticket *t, uint16_t port);
/* Whether @token lets its sender in, which it does once. */
bool http_ticket_redeem(struct http_ticket *t, const char *token);
/* Whether a header Cookie (NULL: there is none) has the cookie. */
bool http_ticket_is_shown(const struct http_ticket *t, const char *cookies);
/* A header Set-Cookie, as by snprintf(3). */
#define HTTP_TICKET_HEADER_SIZE 160
void http_ticket_print_cookie(const struct http_ticket *t, char ret[HTTP_TICKET_HEADER_SIZE]);

#endif
