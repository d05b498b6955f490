/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_OPERATIONS_H
#define PROFD_DAEMON_OPERATIONS_H

/* The verbs of the control socket, and what their handlers share. */
#include "daemon/control/control.h"

struct daemon;
struct session;

/*
 * Name, its message in common/control.proto, who may, CPU time in us. An attach_shim has its own
 * pace besides (source_shim.h).
 */
/* clang-format off */
#define DAEMON_VERBS(X) \
	X(start, start, CONTROL_FOR_ALL | CONTROL_CHANGES, 1000) \
	X(stop, stop, CONTROL_FOR_ALL | CONTROL_CHANGES, 1000) \
	X(pause, pause, CONTROL_FOR_PRIVILEGED | CONTROL_CHANGES, 2000) \
	X(resume, empty, CONTROL_FOR_PRIVILEGED | CONTROL_CHANGES, 2000) \
	X(status, empty, CONTROL_FOR_ALL, 250) \
	X(flush, flush, CONTROL_FOR_ALL | CONTROL_CHANGES, 3000) \
	X(epoch, empty, CONTROL_FOR_PRIVILEGED | CONTROL_CHANGES, 500) \
	X(config, empty, CONTROL_FOR_PRIVILEGED, 500) \
	X(list, list, CONTROL_FOR_PRIVILEGED, 2000) \
	X(usage, usage, CONTROL_FOR_PRIVILEGED, 5000) \
	X(wanted, empty, CONTROL_FOR_PRIVILEGED, 500) \
	X(collect, collect, CONTROL_FOR_ALL, 2000) \
	X(vacuum, vacuum, CONTROL_FOR_PRIVILEGED | CONTROL_CHANGES, 5000) \
	X(attach_shim, empty, CONTROL_FOR_ALL | CONTROL_CHANGES, 100) \
	X(hold, hold, CONTROL_FOR_ALL, 100) \
	X(exports, exports, CONTROL_FOR_PRIVILEGED, 100)
/* clang-format on */

extern const struct control_verb daemon_verbs[];

#define DAEMON_VERB_HANDLER(name, ...) int daemon_verb_##name(const struct control_call *call);
DAEMON_VERBS(DAEMON_VERB_HANDLER)

#define DAEMON_VERB_COST(name, message, access, us) DAEMON_COST_##name = (us),
enum { DAEMON_VERBS(DAEMON_VERB_COST) };

/* Answers with a fatal error, and notes it. Returns CONTROL_DONE. */
int daemon_answer_fatal(struct daemon *d, struct reply *reply, int error);
/* Session @id if the peer may control it; NULL: there is none such, and that is answered. */
struct session *daemon_find_session(struct daemon *d, const struct control_call *call, uint64_t id);

#endif
