/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_MOMENT_H
#define PROFD_CLIENT_GATEWAY_VIEW_MOMENT_H

/* Times in a query. Pure. */
#include <stdint.h>

#include "client/gateway/http/target.h"

struct http_message;

enum {
	MOMENT_E_OK,
	MOMENT_E_BAD, /* see the message */
};

/*
 * The parameter @name, as units_parse_moment() has moments, or Unix seconds with a fraction;
 * *ret_ns stays what it is where it is not given.
 */
int moment_parse(const struct http_target *target, const char *name, uint64_t now_ns,
		 uint64_t *ret_ns, struct http_message *message);

#endif
