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
#include "daemon/ingest/source.h"

int request_check_start(Profd__Control__Start *start, struct source_message *why);
int request_check_stop(const Profd__Control__Stop *stop, struct source_message *why);
int request_check_list(Profd__Control__List *list, struct source_message *why);
int request_check_usage(const Profd__Control__Usage *usage, struct source_message *why);
int request_check_collect(Profd__Control__Collect *collect, struct source_message *why);

/* Answers @call with a refusal, its @error and @why; returns CONTROL_DONE. Passes on an errno. */
int request_refuse(const struct control_call *call, int error, const struct source_message *why);

#endif
