/* SPDX-License-Identifier: MIT */
/*
 * Windows are asked for by their ends, an hour of them at a time where there is more. Those of
 * other services that end with the newest one may still be written, so the next question begins a
 * second before it.
 */
#include "client/gateway/export/arrivals.h"

#include <errno.h>
#include <stdlib.h>

#include "client/gateway/call/profd_call.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"

#define POLL_NS     (5 * NS_PER_S)
#define LIST_MS     30000u
#define SPAN_NS     (3600 * NS_PER_S) /* that is asked for at a time */
#define LATE_NS     (3600 * NS_PER_S) /* a window that is being written ended so long ago at most */
#define STEP_NS     (2 * NS_PER_S)    /* by which a clock may be set back unnoticed */
#define ACCURACY_US 50000u

struct arrivals {
	struct arrivals_options options;
	struct profd_call *call;
	sd_event_source *tick;
	/* Unix time: windows that end up to `until_ns` are known; what is being asked for. */
	uint64_t until_ns, asked_ns;
	bool is_complete, is_unread;
	enum profd_call_outcome outcome; /* of the last question */
};

/* A line when it changes, not every few seconds. */
static void arrivals_note_profd(struct arrivals *a, const struct profd_answer *answer)
{
	a->is_unread = answer->outcome != PROFD_CALL_DONE;
	if (answer->outcome == a->outcome)
		return;
	if (a->is_unread)
		log_warning("export %s: what profd has stored cannot be read: %s", a->options.name,
			    answer->message);
	else
		log_info("export %s: profd answers", a->options.name);
	a->outcome = answer->outcome;
}

static void arrivals_advance(struct arrivals *a, uint64_t newest_ns)
{
	/* A day that was rolled up ends behind what was asked for. */
	if (newest_ns > a->asked_ns)
		newest_ns = a->asked_ns;
	if (newest_ns > a->until_ns + NS_PER_S)
		a->until_ns = newest_ns - NS_PER_S;
	else if (a->options.until_ns || a->asked_ns + LATE_NS < clock_ns(CLOCK_REALTIME))
		a->until_ns = a->asked_ns;
}

static int arrivals_add_rows(struct arrivals *a, const Profd__Control__Listing *listing)
{
	uint64_t newest_ns = 0;
	int r = 0;

	for (size_t i = 0; i < listing->n_rows && !r; i++) {
		const Profd__Control__ListingRow *row = listing->rows[i];

		if (row->end_ns > newest_ns)
			newest_ns = row->end_ns;
		r = a->options.add(a->options.userdata, row->file, row->bytes);
	}
	if (!r)
		arrivals_advance(a, newest_ns);
	return r;
}

static void arrivals_take_answer(void *userdata, const struct profd_answer *answer)
{
	struct arrivals *a = userdata;
	uint64_t end_ns = a->options.until_ns ?: clock_ns(CLOCK_REALTIME) - LATE_NS;
	bool is_behind = a->asked_ns < end_ns;
	int r = 0;

	arrivals_note_profd(a, answer);
	if (!a->is_unread)
		r = arrivals_add_rows(a, answer->response->listing);
	if (r)
		log_warning("export %s: %s", a->options.name, error_describe(r));
	else if (!a->is_unread && is_behind)
		r = sd_event_source_set_time(a->tick, 0);
	else if (!a->is_unread)
		a->is_complete = a->options.until_ns;
	if (r < 0)
		a->is_unread = true;
	a->options.listed(a->options.userdata);
}

/* What ends before the time that it was set back from is taken for what is known already. */
static void arrivals_follow_clock(struct arrivals *a, uint64_t now_ns)
{
	if (a->options.until_ns || now_ns + STEP_NS > a->until_ns)
		return;
	log_warning("export %s: the clock was set back by %u s; windows of that time are not sent",
		    a->options.name, (unsigned)((a->until_ns - now_ns) / NS_PER_S));
	a->until_ns = now_ns;
}

static int arrivals_ask(struct arrivals *a)
{
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;
	const struct profd_call_options options = {
		.loop = a->options.loop,
		.socket = a->options.socket,
		.verb = PROFD__CONTROL__REQUEST__VERB_LIST,
		.message = &list,
		.result = PROFD__CONTROL__RESPONSE__RESULT_LISTING,
		.timeout_ms = LIST_MS,
		.done = arrivals_take_answer,
		.userdata = a,
	};
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);

	arrivals_follow_clock(a, now_ns);
	list.service = (char *)a->options.services;
	list.windows = true;
	list.since_ns = a->until_ns;
	list.until_ns = a->options.until_ns;
	a->asked_ns = list.until_ns ?: now_ns;
	if (a->until_ns + SPAN_NS + LATE_NS < a->asked_ns)
		list.until_ns = a->asked_ns = a->until_ns + SPAN_NS;
	profd_call_free(a->call);
	a->call = NULL;
	return profd_call_new(&a->call, &options);
}

static int arrivals_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct arrivals *a = userdata;
	int r = sd_event_source_set_time_relative(source, POLL_NS / 1000), asked;

	(void)usec;
	if (r >= 0)
		r = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	asked = a->is_complete ? 0 : arrivals_ask(a);
	if (asked)
		log_warning("export %s: %s", a->options.name, error_describe(asked));
	return r < 0 ? sd_event_exit(a->options.loop, error_origin(r)) : 0;
}

int arrivals_new(struct arrivals **ret, const struct arrivals_options *options)
{
	cleanup(arrivals_freep) struct arrivals *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return error_origin(-ENOMEM);
	a->options = *options;
	a->until_ns = options->since_ns;
	r = sd_event_add_time_relative(options->loop, &a->tick, CLOCK_MONOTONIC, 0, ACCURACY_US,
				       arrivals_tick, a);
	if (r < 0)
		return error_origin(r);
	*ret = steal_ptr(&a);
	return 0;
}

void arrivals_free(struct arrivals *a)
{
	if (!a)
		return;
	profd_call_free(a->call);
	sd_event_source_disable_unref(a->tick);
	free(a);
}

uint64_t arrivals_until(const struct arrivals *a)
{
	return a->until_ns / NS_PER_S;
}

bool arrivals_is_complete(const struct arrivals *a)
{
	return a->is_complete;
}

bool arrivals_is_unread(const struct arrivals *a)
{
	return a->is_unread;
}
