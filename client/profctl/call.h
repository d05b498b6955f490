/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_CALL_H
#define PROFD_PROFCTL_CALL_H

/* One request to the daemon and its response, with all that can go wrong told to the user. */
#include "client/profctl/profctl.h"
#include "control.pb-c.h"

/* How long a request may take: answers from memory, and those that wait for a disk. */
#define CALL_SHORT_MS (30 * 1000)
#define CALL_LONG_MS  (600 * 1000)

/*
 * Returns STATUS_DONE with a response whose case is @expected, which the caller frees with
 * response_freep(); or another exit status after a line to the user.
 */
int call_daemon(const struct context *context, const Profd__Control__Request *request,
		int timeout_ms, Profd__Control__Response__ResultCase expected,
		Profd__Control__Response **ret);

/*
 * The same for a request whose response is PROFD__CONTROL__RESPONSE__RESULT_COLLECTED; *ret_data is
 * the file behind it, allocated, of as many bytes as the response says.
 */
int call_file(const struct context *context, const Profd__Control__Request *request, int timeout_ms,
	      Profd__Control__Response **ret, uint8_t **ret_data);

/*
 * Sends a request whose answer is to come much later, or never: *ret_fd, the caller's, becomes
 * readable with it, or when profd has gone. Returns STATUS_DONE, or as call_daemon().
 */
int call_send(const struct context *context, const Profd__Control__Request *request, int *ret_fd);

/* As call_daemon(), for a request without arguments. */
int call_verb(const struct context *context, Profd__Control__Request__VerbCase verb, int timeout_ms,
	      Profd__Control__Response__ResultCase expected, Profd__Control__Response **ret);

static inline void response_freep(Profd__Control__Response **response)
{
	if (*response)
		profd__control__response__free_unpacked(*response, NULL);
}

/* Prints paths, one a line or as {"files": [...]}; where there is no line, tells @none to people.
 */
void call_print_paths(const struct context *context, const Profd__Control__Paths *paths, bool json,
		      const char *none);

#endif
