/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SESSION_SYSTEM_H
#define PROFD_DAEMON_SESSION_SESSION_SYSTEM_H

/*
 * The system session, number 0: of everything, by the configuration's word, with windows that
 * become the files of services. Unlike others it may be paused, it comes back when it had been
 * stopped, and is tried again when the host refuses it: then it is in trouble.
 */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/session/session_set.h"

enum {
	SESSION_PAUSE_E_OK,
	SESSION_PAUSE_E_OFF,     /* there is no system session */
	SESSION_PAUSE_E_REFUSED, /* this host does not let it go on: it stays paused */
};

/*
 * Starts the system session, or applies the defaults to it anew. Returns 0, SESSION_START_E_REFUSED
 * with @message (it is off then, and session_set_tick() tries again), or negative errno.
 */
int session_set_start_system(struct session_set *set, struct source_message *message);
int session_set_stop_system(struct session_set *set);
/* Why the system session is off although nobody stopped it; NULL: it is not. */
const char *session_set_trouble(const struct session_set *set);
/*
 * The system session counts nothing, and does not tick, while paused. Returns SESSION_PAUSE_E_* or
 * negative errno.
 */
int session_set_pause(struct session_set *set, bool pause);
bool session_set_is_paused(const struct session_set *set);

#endif
