/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_HTTP_COMPLAINT_H
#define PROFD_CLIENT_GATEWAY_HTTP_COMPLAINT_H

/*
 * A request that is no HTTP, or has too large a head, libmicrohttpd answers itself. It calls nobody
 * then, but logs it: `Error processing request (HTTP response code is 431 ('...')). Closing
 * connection.`, since 0.9.11. Pure.
 */
#include <stdbool.h>

/* The status that is answered, 100 to 599; 0: the line is about something else. */
unsigned http_complaint_status(const char *line);
/* Whether it is one for requests whose head, target or body is too large. */
bool http_status_is_too_large(unsigned status);

#endif
