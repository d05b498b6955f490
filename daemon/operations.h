/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_OPERATIONS_H
#define PROFD_DAEMON_OPERATIONS_H

/* The verbs of the control socket, and what their handlers share. */
#include "daemon/control/control.h"

struct daemon;
struct session;

extern const struct control_verb daemon_verbs[];
/* Answers with a fatal error, and notes it. Returns CONTROL_DONE. */
int daemon_answer_fatal(struct daemon *d, struct reply *reply, int error);
/* Session @id if the peer may control it; NULL: there is none such, and that is answered. */
struct session *daemon_find_session(struct daemon *d, const struct control_call *call, uint64_t id);

/* operations_output.c: handlers. */
int daemon_verb_stop(const struct control_call *call);
int daemon_verb_flush(const struct control_call *call);
int daemon_verb_epoch(const struct control_call *call);
int daemon_verb_list(const struct control_call *call);
int daemon_verb_collect(const struct control_call *call);
int daemon_verb_vacuum(const struct control_call *call);

#endif
