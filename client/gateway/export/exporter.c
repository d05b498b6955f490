/* SPDX-License-Identifier: MIT */
/*
 * What the target lacks of the windows that arrive in the store is queued, and lanes take it from
 * there, some at a time.
 *
 * A target that does not answer rests, longer each time, and with it all lanes. A window over which
 * it fails, as the window's own fault maybe, rests by itself, with its service's later ones; the
 * target does as well unless it has stored others meanwhile. It is given up when it has failed
 * several times between others that did not, or for more than an hour.
 *
 * What is refused for its age is held, and one of that is tried now and then: if that is taken, the
 * others are, too.
 */
#include "client/gateway/export/exporter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/export/target.h"
#include "client/gateway/api/viewer.h"
#include "client/gateway/export/arrivals.h"
#include "client/gateway/export/begun.h"
#include "client/gateway/export/headers.h"
#include "client/gateway/export/lane.h"
#include "client/gateway/export/progress.h"
#include "client/gateway/export/queue.h"
#include "client/gateway/export/rest.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/log.h"
#include "common/text_print.h"

#define LANES       8u    /* requests at a time: some servers take half a second for each */
#define LATE_S      3600u /* a window that is being written ended so long ago at most */
#define PROBE_NS    (600 * NS_PER_S)
#define ACCURACY_US 50000u

struct exporter {
	struct exporter_options options;
	const struct export_target *target;
	struct progress *progress;
	struct queue *queue;
	struct viewers *viewers;
	struct export_lane *lanes[LANES];
	struct arrivals *arrivals;
	sd_event_source *wake;
	char *headers;
	struct exporter_counters counters;
	struct rest rest;
	uint64_t probe_ns; /* CLOCK_MONOTONIC */
	bool says_old;   /* that windows are too old was logged, and none of them was taken since */
	bool is_unnoted; /* what was sent could not be noted the last time */
};

/* --- when ----------------------------------------------------------------------------------------
 */

static void exporter_run(struct exporter *e);

static int exporter_wake(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	exporter_run(userdata);
	return 0;
}

static bool exporter_rests(const struct exporter *e)
{
	return rest_is_on(&e->rest, clock_ns(CLOCK_MONOTONIC));
}

static void exporter_begin_rest(struct exporter *e, const struct lane_result *result)
{
	if (rest_begin(&e->rest, clock_ns(CLOCK_MONOTONIC), result->retry_after_s))
		log_warning("export %s: %s; it is tried again", e->options.config->name,
			    result->message);
}

static void exporter_note_success(struct exporter *e)
{
	if (rest_note_stored(&e->rest, clock_ns(CLOCK_MONOTONIC)))
		log_info("export %s: it answers", e->options.config->name);
}

/* Goes on when the target's rest is over, or the first window's. */
static void exporter_set_wake(struct exporter *e)
{
	uint64_t next_ns = exporter_rests(e) ? rest_end(&e->rest) : queue_next(e->queue);
	int r;

	if (!next_ns)
		return;
	r = sd_event_source_set_time(e->wake, next_ns / 1000);
	if (r >= 0)
		r = sd_event_source_set_enabled(e->wake, SD_EVENT_ONESHOT);
	if (r < 0)
		sd_event_exit(e->options.loop, error_origin(r));
}

/* --- what came of a window ----------------------------------------------------------------------
 */

/* A line when that begins, not for each window. */
static void exporter_note(struct exporter *e, int r)
{
	if (r && !e->is_unnoted)
		log_warning("export %s: what was sent cannot be noted: %s", e->options.config->name,
			    error_describe(r));
	e->is_unnoted = r;
}

/* It is there, or given up. */
static void exporter_finish(struct exporter *e, struct queued *w)
{
	uint64_t digest;

	if (e->options.directory && progress_parts(e->progress, w->path, &digest))
		begun_forget(e->options.directory, e->options.config->name, w->path);
	exporter_note(e, progress_mark_done(e->progress, w->path));
	queue_remove(e->queue, w);
}

static void exporter_hold(struct exporter *e, struct queued *w, const char *message)
{
	if (!e->says_old)
		log_warning("export %s: windows are too old for it: %s%s", e->options.config->name,
			    message,
			    e->options.until_ns ? ""
						: "; they are kept, and tried again now and then");
	e->says_old = true;
	e->probe_ns = clock_ns(CLOCK_MONOTONIC) + PROBE_NS;
	exporter_note(e, progress_hold(e->progress, w->path));
	queue_remove(e->queue, w);
}

static void exporter_refuse(struct exporter *e, struct queued *w, const char *message)
{
	e->counters.refused++;
	if (e->counters.refused == 1 || e->counters.refused % 1000 == 0)
		log_warning("export %s: %s is not taken: %s (%" PRIu64 " by now)",
			    e->options.config->name, w->path, message, e->counters.refused);
	exporter_finish(e, w);
}

/* @rests_until_ns: 0, or when it is tried again at the earliest. */
static void exporter_retry(struct exporter *e, struct queued *w, const struct lane_result *result,
			   uint64_t rests_until_ns)
{
	e->counters.retried++;
	e->counters.repeated += result->may_be_stored;
	queue_return(e->queue, w, rests_until_ns);
}

/* It failed over @w, which may be the fault of either. */
static void exporter_doubt(struct exporter *e, struct queued *w, const struct lane_result *result)
{
	uint64_t until_ns;
	const enum rest_doubt doubt = rest_doubt(&w->failures, &e->rest, clock_ns(CLOCK_MONOTONIC),
						 &until_ns);

	if (doubt == REST_DOUBT_GIVEN_UP) {
		exporter_refuse(e, w, result->message);
		return;
	}
	exporter_retry(e, w, result, until_ns);
	if (doubt == REST_DOUBT_TARGET)
		exporter_begin_rest(e, result);
}

/* Sent from its beginning, what is there already would count twice. */
static void exporter_drop_rest(struct exporter *e, struct queued *w)
{
	log_warning("export %s: %s: the rest of it is not sent: it is cut into other parts than "
		    "those that were",
		    e->options.config->name, w->path);
	e->counters.dropped++;
	exporter_finish(e, w);
}

static void exporter_store(struct exporter *e, struct queued *w)
{
	e->counters.sent_windows++;
	exporter_note_success(e);
	if (w->was_held) {
		e->probe_ns = 0; /* so others may be taken as well */
		e->says_old = false;
	}
	exporter_finish(e, w);
}

static void exporter_take_result(void *userdata, struct export_lane *lane, struct queued *w,
				 const struct lane_result *result)
{
	struct exporter *e = userdata;

	(void)lane;
	e->counters.sent_requests += result->n_requests;
	e->counters.sent_bytes += result->n_bytes;
	switch (result->outcome) {
	case LANE_STORED:
		exporter_store(e, w);
		break;
	case LANE_NOTHING:
		exporter_finish(e, w);
		break;
	case LANE_GONE:
		e->counters.gone++;
		exporter_finish(e, w);
		break;
	case LANE_CHANGED:
		exporter_drop_rest(e, w);
		break;
	case LANE_TOO_OLD:
		exporter_hold(e, w, result->message);
		break;
	case LANE_REFUSED:
		exporter_refuse(e, w, result->message);
		break;
	case LANE_UNKNOWN:
		exporter_doubt(e, w, result);
		break;
	case LANE_LATER:
		exporter_retry(e, w, result, 0);
		exporter_begin_rest(e, result);
		break;
	}
	exporter_run(e);
}

/* --- what is sent next ---------------------------------------------------------------------------
 */

static bool exporter_is_idle(const struct exporter *e)
{
	for (size_t i = 0; i < LANES; i++)
		if (e->lanes[i] && !export_lane_is_idle(e->lanes[i]))
			return false;
	return true;
}

/* NULL: all are in work, or there is no memory for one more. */
static struct export_lane *exporter_find_lane(struct exporter *e)
{
	const struct lane_options options = {
		.loop = e->options.loop,
		.socket = e->options.socket,
		.viewers = e->viewers,
		.progress = e->progress,
		.target = e->target,
		.config = e->options.config,
		.headers = e->headers,
		.directory = e->options.directory,
		.until_ns = e->options.until_ns,
		.done = exporter_take_result,
		.userdata = e,
	};

	for (size_t i = 0; i < LANES; i++) {
		if (!e->lanes[i] && export_lane_new(&e->lanes[i], &options))
			return NULL;
		if (export_lane_is_idle(e->lanes[i]))
			return e->lanes[i];
	}
	return NULL;
}

static bool exporter_is_too_old(const struct exporter *e, const struct place *window)
{
	uint64_t max_s = e->options.config->max_age_ns / NS_PER_S;

	return max_s && window->end_s + max_s < clock_ns(CLOCK_REALTIME) / NS_PER_S;
}

/* What waits is in the store, as long as that has room; more than this target may have goes. */
static void exporter_bound(struct exporter *e)
{
	struct queued *w;

	while (queue_bytes(e->queue) > e->options.config->spool_size &&
	       (w = queue_first_waiting(e->queue))) {
		e->counters.dropped++;
		exporter_finish(e, w);
	}
}

/* One that is held, when it is time. */
static void exporter_probe(struct exporter *e)
{
	const char *held = progress_held(e->progress);
	struct place place;

	if (!held || e->options.until_ns || queue_length(e->queue) ||
	    clock_ns(CLOCK_MONOTONIC) < e->probe_ns ||
	    (place_parse(held, &place) && exporter_is_too_old(e, &place)))
		return;
	e->probe_ns = clock_ns(CLOCK_MONOTONIC) + PROBE_NS;
	exporter_note(e, queue_add(e->queue, held, 0, true));
}

static void exporter_start_lanes(struct exporter *e)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct export_lane *lane;
	struct queued *w;

	exporter_probe(e);
	/* One request shows whether a target that did not answer does so again. */
	while ((!e->rest.n_failed || exporter_is_idle(e)) && (lane = exporter_find_lane(e)) &&
	       (w = queue_take(e->queue, now_ns))) {
		w->failures.begun_ns = now_ns;
		if (!w->was_held && exporter_is_too_old(e, &w->place))
			exporter_hold(e, w, "max_age");
		else
			export_lane_start(lane, w);
	}
}

static void exporter_run(struct exporter *e)
{
	if (!exporter_rests(e))
		exporter_start_lanes(e);
	exporter_set_wake(e);
	if (queue_length(e->queue))
		return;
	if (e->options.until_ns &&
	    (arrivals_is_complete(e->arrivals) || arrivals_is_unread(e->arrivals)))
		e->options.done(e->options.userdata);
	for (size_t i = 0; i < LANES; i++)
		if (e->lanes[i])
			export_lane_rest(e->lanes[i]);
}

/* --- what is new ---------------------------------------------------------------------------------
 */

static int exporter_add_window(void *userdata, const char *file, uint64_t bytes)
{
	struct exporter *e = userdata;
	const char *begun;
	int r;

	if (!progress_lacks(e->progress, file))
		return 0;
	r = queue_add(e->queue, file, bytes, false);
	/* It may be part of that one by now, and is not listed by itself. */
	begun = progress_begun(e->progress, file);
	return r || !begun ? r : queue_add(e->queue, begun, 0, false);
}

static void exporter_take_arrivals(void *userdata)
{
	struct exporter *e = userdata;
	uint64_t until_s = arrivals_until(e->arrivals);

	if (!queue_length(e->queue) && until_s > progress_since(e->progress) + 2 * LATE_S)
		exporter_note(e, progress_move(e->progress, until_s - LATE_S));
	exporter_bound(e);
	exporter_run(e);
}

/* --- an exporter ---------------------------------------------------------------------------------
 */

static int exporter_begin(struct exporter *e)
{
	const struct arrivals_options arrivals = {
		.loop = e->options.loop,
		.socket = e->options.socket,
		.services = e->options.config->services,
		.name = e->options.config->name,
		.since_ns = progress_since(e->progress) * NS_PER_S,
		.until_ns = e->options.until_ns,
		.add = exporter_add_window,
		.listed = exporter_take_arrivals,
		.userdata = e,
	};
	int r = sd_event_add_time(e->options.loop, &e->wake, CLOCK_MONOTONIC, UINT64_MAX,
				  ACCURACY_US, exporter_wake, e);

	if (r >= 0)
		r = sd_event_source_set_enabled(e->wake, SD_EVENT_OFF);
	return r < 0 ? error_origin(r) : arrivals_new(&e->arrivals, &arrivals);
}

static int exporter_open_progress(struct exporter *e)
{
	cleanup(freep) char *path = NULL, *range = NULL;
	int r;

	if (e->options.until_ns)
		return text_print(&range, "since %" PRIu64 "\n", e->options.since_ns / NS_PER_S)
			       ?: progress_parse(&e->progress, range, strlen(range));
	r = text_print(&path, "%s/%s", e->options.directory, e->options.config->name)
		    ?: progress_open(&e->progress, path, clock_ns(CLOCK_REALTIME) / NS_PER_S);
	if (r < 0)
		log_error("export %s: %s cannot be written", e->options.config->name,
			  e->options.directory);
	else
		begun_sweep(e->options.directory, e->options.config->name, e->progress);
	return r;
}

int exporter_new(struct exporter **ret, const struct exporter_options *options)
{
	cleanup(exporter_freep) struct exporter *e = calloc(1, sizeof(*e));
	const struct viewers_options viewing = {.loop = options->loop, .max = 1};
	struct headers_message message;
	int r;

	if (!e)
		return error_origin(-ENOMEM);
	e->options = *options;
	e->counters.name = options->config->name;
	e->target = export_find_target(options->config->type);
	r = headers_read(options->config->header_file, &e->headers, &message);
	if (r > 0 || !e->target) {
		log_error("export %s: %s", options->config->name,
			  r > 0 ? message.text : "its type is not known");
		return EXPORTER_E_BAD;
	}
	if (r)
		return r;
	r = exporter_open_progress(e)
		    ?: queue_new(&e->queue)
		    ?: viewers_new(&e->viewers, &viewing)
		    ?: exporter_begin(e);
	if (r)
		return r;
	*ret = steal_ptr(&e);
	return EXPORTER_E_OK;
}

void exporter_free(struct exporter *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < LANES; i++)
		export_lane_free(e->lanes[i]);
	arrivals_free(e->arrivals);
	sd_event_source_disable_unref(e->wake);
	viewers_free(e->viewers);
	queue_free(e->queue);
	progress_free(e->progress);
	free(e->headers);
	free(e);
}

void exporter_get_counters(const struct exporter *e, struct exporter_counters *ret)
{
	uint64_t oldest_s = queue_oldest(e->queue), now_s = clock_ns(CLOCK_REALTIME) / NS_PER_S;

	*ret = e->counters;
	ret->waiting = queue_length(e->queue);
	ret->waiting_bytes = queue_bytes(e->queue);
	ret->lag_s = oldest_s && now_s > oldest_s ? now_s - oldest_s : 0;
	ret->is_failing = e->rest.n_failed > 0;
	ret->held = progress_count_held(e->progress);
	ret->is_unread = arrivals_is_unread(e->arrivals);
}
