/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_REQUEST_H
#define PROFD_CONTROL_REQUEST_H

/*
 * Checks of what clients ask for: texts have their form, numbers their range, enumerations a known
 * value. Pure, and without a look at who asks. All return 0, CONTROL_ERROR_USAGE with @why, or
 * negative errno; messages keep their texts, but for services, whose names are completed in place.
 */
#include <stddef.h>

#include "daemon/control/control.h"

struct request_message {
	char text[256]; /* one line */
};

/* Writes the message and returns @error. */
int request_say(struct request_message *why, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* @ret: without pidfd and owner, which policy_check_start() sets. */
int request_read_start(Profd__Control__Start *start, struct session_request *ret,
		       struct request_message *why);
int request_check_stop(const Profd__Control__Stop *stop, struct request_message *why);
int request_check_list(Profd__Control__List *list, struct request_message *why);
int request_read_collect(Profd__Control__Collect *collect, struct collect_request *ret,
			 struct request_message *why);

/* Answers @call with a refusal, its @error and @why; returns CONTROL_DONE. Passes on an errno. */
int request_refuse(const struct control_call *call, int error, const struct request_message *why);

#endif
