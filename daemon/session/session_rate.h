/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SESSION_RATE_H
#define PROFD_DAEMON_SESSION_SESSION_RATE_H

/*
 * All sessions sample slower than they were asked to, while profd would take too much of the
 * machine otherwise. A rate in Hz is halved, down to SESSION_HZ_FLOOR or to what was asked for if
 * that is less; a period is doubled. A window has one rate: it is closed before the rate changes.
 */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/session/session_set.h"

#define SESSION_HZ_FLOOR 10u

/* What becomes of @wanted (Hz, or events if @is_period) after @halvings. */
uint64_t session_rate(uint64_t wanted, bool is_period, unsigned halvings);

/*
 * For all sessions from now on, those that will be started included. A session that the source does
 * not let go on ends with its last window; the system session is tried again, see
 * session_set_trouble(). Returns 0 or negative errno.
 */
int session_set_slow_down(struct session_set *set, unsigned halvings);
/* Whether one halving more would make any session that samples slower. */
bool session_set_can_slow_down(const struct session_set *set);

#endif
