/* SPDX-License-Identifier: MIT */
/*
 * A session is started, and then held by a request of its own that stays unanswered. A window is
 * what `collect` answers that takes it; what profd complains of then is for the caller to tell.
 */
#include "client/profctl/held.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/options.h"
#include "common/packet.h"
#include "common/profile/pprof.h"
#include "common/unixsock.h"

#define UNPACKED_MAX ((size_t)1 << 30)

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

bool held_has_ended(const struct held *held)
{
	cleanup(freep) uint8_t *answer = NULL;
	size_t size;

	return !unixsock_receive(held->fd, PACKET_RESPONSE_MAX, CALL_SHORT_MS, &answer, &size);
}

void held_deinit(struct held *held)
{
	closep(&held->fd);
	held->fd = -1;
}

/* What was complained of, without the name of the verb. */
static void taken_set_trouble(struct taken *t, const char *said)
{
	const char *colon = strstr(said, ": ");

	snprintf(t->trouble, sizeof(t->trouble), "%s", colon ? colon + 2 : said);
	t->trouble[strcspn(t->trouble, "\n")] = '\0';
}

/* TAKE_E_* or negative errno. */
static int request_window(const struct context *context, uint64_t session, struct taken *t,
			  Profd__Control__Response **ret, uint8_t **ret_data)
{
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	struct context quiet = *context;
	cleanup(freep) char *said = NULL;
	size_t length;
	int status;

	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION;
	collect.session = session;
	collect.take = true;
	quiet.progress = false;
	quiet.err = open_memstream(&said, &length);
	if (!quiet.err)
		return error_origin(-ENOMEM);
	status = call_collect(&quiet, &collect, CALL_SHORT_MS, ret, ret_data);
	if (fclose(quiet.err))
		return error_origin(-ENOMEM);
	if (status)
		taken_set_trouble(t, said);
	return status == STATUS_DONE        ? TAKE_E_OK
	       : status == STATUS_NO_DAEMON ? TAKE_E_GONE
					    : TAKE_E_LATER;
}

int take_window(const struct context *context, uint64_t session, struct taken *ret)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	int r;

	*ret = (struct taken){0};
	r = request_window(context, session, ret, &response, &data);
	if (r)
		return r;
	ret->lost = response->collected->dropped + response->collected->lost;
	ret->more = response->collected->more;
	ret->over = response->collected->over;
	if (!response->collected->bytes)
		return TAKE_E_OK;
	r = pprof_read(data, (size_t)response->collected->bytes, UNPACKED_MAX, &ret->profile,
		       &message);
	if (r > 0)
		snprintf(ret->trouble, sizeof(ret->trouble), "profd sent an invalid profile: %s",
			 message.text);
	return r > 0 ? TAKE_E_BAD : r;
}
