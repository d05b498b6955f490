/* SPDX-License-Identifier: MIT */
/*
 * One call at a time: start, take now and then, stop, take the rest; and one that is not answered
 * as long as the session lasts, which holds it.
 */
#include "client/gateway/live_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/gateway/api/viewer.h"
#include "client/gateway/call/profd_call.h"
#include "client/gateway/gathered.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/units.h"

#define TIMEOUT_MS  30000u
#define INTERVAL_US UINT64_C(2000000) /* between two takes */
#define RETRY_US    UINT64_C(200000)
#define RETRIES_MAX 40u /* a session that has ended waits ten seconds to be taken */
#define FILE_MAX    ((size_t)64 << 20)

struct live_profile {
	struct live_profile_options options;
	struct profd_call *call, *hold;
	sd_event_source *timer;
	struct gathered *gathered;
	uint64_t session, end_ns; /* CLOCK_MONOTONIC */
	int64_t start_ns;         /* Unix time */
	bool is_stopping;
	unsigned n_retries;
};

static void live_take(struct live_profile *l);

static void live_end(struct live_profile *l, struct viewer_result *result)
{
	profd_call_free(l->hold);
	l->hold = NULL;
	l->timer = sd_event_source_disable_unref(l->timer);
	l->options.done(l->options.userdata, result);
}

static void live_fail(struct live_profile *l, unsigned status, const char *message)
{
	live_end(l, &(struct viewer_result){.status = status, .body = (char *)(uintptr_t)message});
}

static void live_fail_answer(struct live_profile *l, const struct profd_answer *answer)
{
	live_fail(l, profd_answer_status(answer), answer->message);
}

/* False: it has ended, and may be freed. */
static bool live_call(struct live_profile *l, struct profd_call **call,
		      struct profd_call_options options)
{
	options.loop = l->options.loop;
	options.socket = l->options.socket;
	options.userdata = l;
	profd_call_free(*call);
	*call = NULL;
	if (!profd_call_new(call, &options))
		return true;
	live_fail(l, 503, "out of memory");
	return false;
}

static void live_take_merged(void *userdata, struct viewer_result *result)
{
	struct live_profile *l = userdata;

	live_end(l, result);
}

static void live_finish(struct live_profile *l)
{
	struct view_merge merge = l->options.merge;

	merge.time_ns = l->start_ns;
	merge.duration_ns = (int64_t)(l->options.query.seconds * NS_PER_S);
	gathered_finish(l->gathered, &merge, live_take_merged, l);
}

/* --- the session ------------------------------------------------------------------------------ */

/* Until the next take, or the end. */
static void live_sleep(struct live_profile *l)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t us = l->end_ns > now_ns ? (l->end_ns - now_ns) / 1000 + 1 : 0;

	if (l->is_stopping || l->n_retries)
		us = RETRY_US;
	sd_event_source_set_time_relative(l->timer, us < INTERVAL_US ? us : INTERVAL_US);
	sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static void live_taken(void *userdata, const struct profd_answer *answer)
{
	struct live_profile *l = userdata;
	const Profd__Control__Collected *collected;
	const char *fault;

	/* It may be busy; a session that has ended waits. */
	if (answer->outcome == PROFD_CALL_REFUSED && l->n_retries++ < RETRIES_MAX) {
		live_sleep(l);
		return;
	}
	if (answer->outcome != PROFD_CALL_DONE) {
		live_fail_answer(l, answer);
		return;
	}
	l->n_retries = 0;
	collected = answer->response->collected;
	fault = answer->file_length ? gathered_add(l->gathered, answer->file, answer->file_length)
				    : NULL;
	if (fault)
		live_fail(l, 503, fault);
	else if (collected->over)
		live_finish(l);
	else if (collected->more)
		live_take(l);
	else
		live_sleep(l);
}

static void live_take(struct live_profile *l)
{
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;

	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION;
	collect.session = l->session;
	collect.take = true;
	live_call(l, &l->call,
		  (struct profd_call_options){
			  .verb = PROFD__CONTROL__REQUEST__VERB_COLLECT,
			  .message = &collect,
			  .result = PROFD__CONTROL__RESPONSE__RESULT_COLLECTED,
			  .timeout_ms = TIMEOUT_MS,
			  .max_file = FILE_MAX,
			  .done = live_taken,
		  });
}

/* Also where it had ended already, as its process has. */
static void live_stopped(void *userdata, const struct profd_answer *answer)
{
	struct live_profile *l = userdata;

	if (answer->outcome == PROFD_CALL_AWAY)
		live_fail_answer(l, answer);
	else
		live_take(l);
}

static void live_stop(struct live_profile *l)
{
	Profd__Control__Stop stop = PROFD__CONTROL__STOP__INIT;

	l->is_stopping = true;
	stop.which_case = PROFD__CONTROL__STOP__WHICH_ID;
	stop.id = l->session;
	live_call(l, &l->call,
		  (struct profd_call_options){
			  .verb = PROFD__CONTROL__REQUEST__VERB_STOP,
			  .message = &stop,
			  .result = PROFD__CONTROL__RESPONSE__RESULT_PATHS,
			  .timeout_ms = TIMEOUT_MS,
			  .max_file = FILE_MAX,
			  .done = live_stopped,
		  });
}

static int live_handle_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct live_profile *l = userdata;

	(void)source, (void)usec;
	if (!l->is_stopping && clock_ns(CLOCK_MONOTONIC) >= l->end_ns)
		live_stop(l);
	else
		live_take(l);
	return 0;
}

/* The session has ended by itself, or profd has: a take finds out. */
static void live_released(void *userdata, const struct profd_answer *answer)
{
	struct live_profile *l = userdata;

	if (answer->outcome == PROFD_CALL_AWAY)
		live_fail_answer(l, answer);
}

/* As it is printed: "s12". */
static bool live_parse_session(const char *text, uint64_t *ret)
{
	return *text == 's' && !units_parse_number(text + 1, ret);
}

static void live_started(void *userdata, const struct profd_answer *answer)
{
	Profd__Control__Hold hold = PROFD__CONTROL__HOLD__INIT;
	struct live_profile *l = userdata;

	if (answer->outcome != PROFD_CALL_DONE) {
		live_fail_answer(l, answer);
		return;
	}
	if (!live_parse_session(answer->response->text, &l->session)) {
		live_fail(l, 503, "profd sent a malformed reply; are the versions the same?");
		return;
	}
	l->end_ns = clock_ns(CLOCK_MONOTONIC) + l->options.query.seconds * NS_PER_S;
	hold.id = l->session;
	live_sleep(l);
	live_call(l, &l->hold,
		  (struct profd_call_options){
			  .verb = PROFD__CONTROL__REQUEST__VERB_HOLD,
			  .message = &hold,
			  .result = PROFD__CONTROL__RESPONSE__RESULT_OK,
			  .done = live_released,
		  });
}

static void live_fill_start(const struct query *query, Profd__Control__Start *start)
{
	static char name[] = "http";

	start->target = query->scope == QUERY_PID       ? PROFD__CONTROL__TARGET_KIND__PID
			: query->scope == QUERY_SERVICE ? PROFD__CONTROL__TARGET_KIND__SERVICE
							: PROFD__CONTROL__TARGET_KIND__ALL;
	start->number = query->pid;
	if (query->service)
		start->text = (char *)(uintptr_t)query->service;
	start->name = name;
	start->held = true;
	start->live = true;
}

int live_profile_new(struct live_profile **ret, const struct live_profile_options *options)
{
	cleanup(live_profile_freep) struct live_profile *l = calloc(1, sizeof(*l));
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	int r;

	if (!l)
		return error_origin(-ENOMEM);
	l->options = *options;
	l->start_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	live_fill_start(&options->query, &start);
	r = gathered_new(&l->gathered, options->viewers);
	if (!r)
		r = sd_event_add_time_relative(options->loop, &l->timer, CLOCK_MONOTONIC, 0, 1000,
					       live_handle_timer, l);
	if (r >= 0)
		r = sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = profd_call_new(&l->call,
				   &(struct profd_call_options){
					   .loop = options->loop,
					   .socket = options->socket,
					   .verb = PROFD__CONTROL__REQUEST__VERB_START,
					   .message = &start,
					   .result = PROFD__CONTROL__RESPONSE__RESULT_TEXT,
					   .timeout_ms = TIMEOUT_MS,
					   .done = live_started,
					   .userdata = l,
				   });
	if (r < 0)
		return r;
	*ret = steal_ptr(&l);
	return 0;
}

void live_profile_free(struct live_profile *l)
{
	if (!l)
		return;
	profd_call_free(l->call);
	profd_call_free(l->hold);
	sd_event_source_disable_unref(l->timer);
	gathered_free(l->gathered);
	free(l);
}
