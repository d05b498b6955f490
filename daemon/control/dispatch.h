/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_DISPATCH_H
#define PROFD_CONTROL_DISPATCH_H

/* From the bytes of a request to the call of its operation, or to an error. */
#include "daemon/control/control.h"

struct dispatcher {
	const struct control_ops *ops;
	void *userdata;
	int proc_fd; /* /proc */
};

enum {
	DISPATCH_E_OK,
	DISPATCH_E_GARBAGE, /* answered, but the client is to be given up */
};

/*
 * Decodes, checks, and calls the operation. @reply is answered before this returns, or, if the
 * operation is pending, later. *@answered tells: it must become true when @reply is answered.
 */
int dispatch_request(const struct dispatcher *dispatcher, const struct peer *peer,
		     const uint8_t *data, size_t size, struct reply *reply, const bool *answered);

#endif
