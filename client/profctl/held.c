/* SPDX-License-Identifier: MIT */
#include "client/profctl/held.h"

#include "client/profctl/arguments.h"
#include "common/cleanup.h"

int held_start(const struct context *context, Profd__Control__Start *start, struct held *ret)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Hold hold = PROFD__CONTROL__HOLD__INIT;
	int fd, r;

	start->held = true;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_START;
	request.start = start;
	r = call_daemon(context, &request, CALL_SHORT_MS, PROFD__CONTROL__RESPONSE__RESULT_TEXT,
			&response);
	if (r)
		return r;
	if (!parse_session_id(response->text, &hold.id))
		return profctl_complain(context, STATUS_FAILED, "'%s' is no session's id",
					response->text);
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_HOLD;
	request.hold = &hold;
	r = call_send(context, &request, &fd);
	if (r)
		return r;
	*ret = (struct held){hold.id, fd};
	return STATUS_DONE;
}

int held_stop(const struct context *context, struct held *held, Profd__Control__Response **ret)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Stop stop = PROFD__CONTROL__STOP__INIT;

	stop.which_case = PROFD__CONTROL__STOP__WHICH_ID;
	stop.id = held->id;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_STOP;
	request.stop = &stop;
	return call_daemon(context, &request, CALL_LONG_MS, PROFD__CONTROL__RESPONSE__RESULT_PATHS,
			   ret);
}

void held_deinit(struct held *held)
{
	closep(&held->fd);
	held->fd = -1;
}
