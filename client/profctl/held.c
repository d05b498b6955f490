/* SPDX-License-Identifier: MIT */
#include "client/profctl/held.h"

#include "common/cleanup.h"
#include "common/options.h"

int held_start(const struct context *context, Profd__Control__Start *start, struct held *ret)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Hold hold = PROFD__CONTROL__HOLD__INIT;
	const struct call begin = {PROFD__CONTROL__REQUEST__VERB_START, start,
				   PROFD__CONTROL__RESPONSE__RESULT_TEXT, CALL_SHORT_MS};
	const struct call keep = {PROFD__CONTROL__REQUEST__VERB_HOLD, &hold,
				  PROFD__CONTROL__RESPONSE__RESULT_OK, CALL_SHORT_MS};
	struct usage_message message;
	int fd, r;

	start->held = true;
	r = call_daemon(context, &begin, &response);
	if (r)
		return r;
	if (option_session("", response->text, &hold.id, &message))
		return profctl_complain(context, STATUS_FAILED, "%s", message.text);
	r = call_send(context, &keep, &fd);
	if (r)
		return r;
	*ret = (struct held){hold.id, fd};
	return STATUS_DONE;
}

int held_stop(const struct context *context, struct held *held, Profd__Control__Response **ret)
{
	Profd__Control__Stop stop = PROFD__CONTROL__STOP__INIT;
	const struct call call = {PROFD__CONTROL__REQUEST__VERB_STOP, &stop,
				  PROFD__CONTROL__RESPONSE__RESULT_PATHS, CALL_LONG_MS};

	stop.which_case = PROFD__CONTROL__STOP__WHICH_ID;
	stop.id = held->id;
	return call_daemon(context, &call, ret);
}

void held_deinit(struct held *held)
{
	closep(&held->fd);
	held->fd = -1;
}
