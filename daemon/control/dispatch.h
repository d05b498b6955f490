/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_DISPATCH_H
#define PROFD_CONTROL_DISPATCH_H

/*
 * From the bytes of a request to the call of its verb's handler, or to an error. Which verbs there
 * are is the table's matter: a request is the one field that is set in Request, and its row has
 * that field's name.
 */
#include "daemon/control/control.h"

struct dispatcher {
	const struct control_verb *verbs; /* up to one without a name */
	void *userdata;
	int proc_fd; /* /proc */
};

enum {
	DISPATCH_E_OK,
	DISPATCH_E_GARBAGE, /* answered, but the client is to be given up */
};

/*
 * @reply is answered before this returns, or, if the handler has said so, later. *@answered becomes
 * true when it is.
 */
int dispatch_request(const struct dispatcher *dispatcher, const struct peer *peer,
		     const uint8_t *data, size_t size, struct reply *reply, const bool *answered);

#endif
