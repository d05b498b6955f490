/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_POLICY_H
#define PROFD_CONTROL_POLICY_H

/*
 * Who may do what. Privileged peers (control.h) may do everything. Others may start sessions for
 * processes and threads of their own uid, stop, flush and see what they started, collect that and
 * what the system session knows of their own living processes, and ask for the status; their
 * sessions see no kernel addresses, take at most POLICY_HZ_MAX samples per second
 * and number at most POLICY_SESSIONS_MAX.
 */
#include "daemon/control/control.h"
#include "daemon/control/request.h"

/*
 * The checks below return 0, CONTROL_ERROR_DENIED, CONTROL_ERROR_FAILED (the target does not
 * exist), both with the message, or negative errno.
 */

/*
 * Whether @peer, who owns @n_sessions now, may have this session; tightens it to what the peer may
 * see. *ret_pidfd: for a PID, the process, the caller's; else, and on errors, as it was. @proc_fd:
 * /proc.
 */
int policy_check_start(const struct peer *peer, int proc_fd, unsigned n_sessions,
		       Profd__Control__Start *start, int *ret_pidfd,
		       struct source_message *message);

/*
 * Whether @peer may ask for this: without privileges for a session, whose owner the operation
 * looks at, or for a living process of its own.
 */
int policy_check_collect(const struct peer *peer, int proc_fd,
			 const Profd__Control__Collect *collect, struct source_message *message);

/*
 * Whether @peer itself may have a ring: it must run as its uid alone, whatever that is, so that
 * what it writes is about nobody else. *ret_pidfd is the caller's. (A process that inherited the
 * connection of one that is gone could pass for another of the same user; nobody is betrayed.)
 */
int policy_check_attach(const struct peer *peer, int proc_fd, int *ret_pidfd,
			struct source_message *message);

#endif
