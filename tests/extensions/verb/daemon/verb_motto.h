/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_VERB_MOTTO_H
#define PROFD_DAEMON_VERB_MOTTO_H

/* Handles `motto`, which is answered with a text. */
#include "daemon/control/control.h"

int verb_motto(const struct control_call *call);

#endif
