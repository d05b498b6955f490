/* SPDX-License-Identifier: MIT */
#include "daemon/operations.h"

int daemon_verb_motto(const struct control_call *call)
{
	reply_text(call->reply, call->peer->privileged ? "every tick" : "my ticks");
	return CONTROL_DONE;
}
