/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_REPLY_H
#define PROFD_CONTROL_REPLY_H

/*
 * The inner side of struct reply (control.h has the outer one): it knows the connection that its
 * request came from until one of the two ends.
 */
#include "daemon/control/control.h"

struct connection;

struct reply {
	struct connection *connection; /* NULL: the client has gone */
};

/* A packed answer, header included, or NULL without memory; the caller frees it. */
uint8_t *reply_pack_error(enum control_error error, const char *text, size_t *ret_size);

#endif
