/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_CALL_H
#define PROFD_PROFCTL_CALL_H

/* One request to the daemon and its response, with all that can go wrong told to the user. */
#include "client/profctl/profctl.h"
#include "control.pb-c.h"

/* How long a request may take: answers from memory, and those that wait for a disk. */
#define CALL_SHORT_MS (30 * 1000)
#define CALL_LONG_MS  (600 * 1000)

struct call {
	Profd__Control__Request__VerbCase verb;
	const void *message;                         /* the verb's; NULL: an empty one */
	Profd__Control__Response__ResultCase result; /* what can be used */
	int timeout_ms;
};

/*
 * Returns STATUS_DONE with a response of the case that is wanted, which the caller frees with
 * response_freep(); or another exit status after a line to the user.
 */
int call_daemon(const struct context *context, const struct call *call,
		Profd__Control__Response **ret);

/* The same for `collect`; *ret_data is the file behind the response, of as many bytes as it says.
 */
int call_collect(const struct context *context, const Profd__Control__Collect *collect,
		 int timeout_ms, Profd__Control__Response **ret, uint8_t **ret_data);

/*
 * Sends a request whose answer is to come much later, or never: *ret_fd, the caller's, becomes
 * readable with it, or when profd has gone. Returns STATUS_DONE, or as call_daemon().
 */
int call_send(const struct context *context, const struct call *call, int *ret_fd);

/* The daemon's status. As call_daemon(). */
int call_status(const struct context *context, Profd__Control__Response **ret);

static inline void response_freep(Profd__Control__Response **response)
{
	if (*response)
		profd__control__response__free_unpacked(*response, NULL);
}

#endif
