/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_RECORD_SESSION_H
#define PROFD_PROFCTL_RECORD_SESSION_H

/*
 * Where `record` has its samples from: a live session, held, of the profd that there is, or, where
 * none answers or lets us, of a private one. A command waits to be executed until it is sampled.
 */
#include "client/profctl/arguments.h"
#include "client/profctl/held.h"
#include "client/record/private_profd.h"
#include "client/run/launch.h"

struct record_session {
	struct context context; /* with the socket of the profd that records */
	const struct record_arguments *arguments;
	const sigset_t *mask;     /* of signals, and */
	const struct rlimit *fds; /* RLIMIT_NOFILE: for the command, as they were */
	struct private_profd *profd;
	struct held held;
	struct launched command;
};

/*
 * @s has the first four members set. Returns STATUS_DONE, with the command waiting for
 * launch_go(), or an exit status after a complaint.
 */
int record_session_open(struct record_session *s);
/* Ends what is still there: the private profd, and a command that was not told to go. */
void record_session_deinit(struct record_session *s);

/* What the session has counted by now, if profd tells. */
void record_session_count(const struct record_session *s, uint64_t *ret_counted);

#endif
