/* SPDX-License-Identifier: MIT */
/*
 * The operations that the output thread answers: those that end with files, which it answers when
 * it has written all that was asked for before, and those on what is stored. Each has a waiter,
 * which is told by the end of a flush.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/units.h"
#include "daemon/control/policy.h"
#include "daemon/control/request.h"
#include "daemon/daemon_private.h"
#include "daemon/operations.h"
#include "daemon/status.h"

#define COLLECTING_MAX 4 /* profiles at the same time */

/* Parts of the memory budget. */
#define MERGED_PART 16 /* samples, names and addresses while they are merged */
#define RESULT_PART 8  /* the result, compressed */

/* A client that waits, and for what. */
struct waiter {
	struct daemon *daemon;
	struct reply *reply;
	/* What it is answered, once the flush has ended well. */
	void (*answer)(struct waiter *w, struct flush *flush);
	bool writes;   /* a failure is one of writing */
	bool collects; /* it merges what is stored: one of daemon.collecting */
	uint64_t *ids; /* sessions that are stopped: their files are the answer */
	size_t n_ids;
	struct peer peer;           /* the client */
	LIST_ENTRY(waiter) others;  /* that collect */
	uint64_t since_ns, session; /* what */
	bool is_file;               /* one file of the store */
	bool more;                  /* see session_set_take_window() */
	bool is_dry_run;            /* a vacuum that deletes nothing */
};

static void answer_vacuumed(struct waiter *w, struct flush *flush)
{
	Profd__Control__Vacuumed vacuumed = PROFD__CONTROL__VACUUMED__INIT;
	char size[UNITS_TEXT_MAX];

	vacuumed.files = flush->freed_files;
	vacuumed.bytes = flush->freed_bytes;
	if (!w->is_dry_run)
		daemon_log_asked(&w->peer, "vacuum: %" PRIu64 " files deleted, %s",
				 flush->freed_files,
				 units_print_size_short(size, sizeof(size), flush->freed_bytes));
	reply_send(w->reply, PROFD__CONTROL__RESPONSE__RESULT_VACUUMED, &vacuumed);
}

static void answer_epoch(struct waiter *w, struct flush *flush)
{
	const char *name = flush->paths.n ? flush->paths.all[0] : "";

	daemon_log_asked(&w->peer, "epoch %s of image profiles", name);
	reply_text(w->reply, name);
}

static void answer_files(struct waiter *w, struct flush *flush)
{
	reply_paths(w->reply, flush->paths.all);
}

static void answer_stored_files(struct waiter *w, struct flush *flush)
{
	reply_path_list(w->reply, flush->collected);
}

static void answer_listing(struct waiter *w, struct flush *flush)
{
	if (flush->listing->n_rows > LISTING_ROWS_MAX) {
		reply_error(w->reply, CONTROL_ERROR_FAILED,
			    "the reply is too long; use a smaller range");
		return;
	}
	reply_send(w->reply, PROFD__CONTROL__RESPONSE__RESULT_LISTING, flush->listing);
}

static void answer_usage(struct waiter *w, struct flush *flush)
{
	flush->usage->n_cpus = daemon_n_cpus(w->daemon);
	reply_send(w->reply, PROFD__CONTROL__RESPONSE__RESULT_USAGE, flush->usage);
}

static void answer_collected(struct waiter *w, struct flush *flush)
{
	struct collected *c = flush->collected;

	if (c->fd >= 0)
		reply_collected(w->reply, c);
	else if (w->is_file && c->n_unreadable)
		reply_error(w->reply, CONTROL_ERROR_FAILED, "the file of the window is damaged");
	else if (w->is_file)
		reply_error(w->reply, CONTROL_ERROR_NOT_FOUND,
			    "the store has no such window; see profctl list -s SERVICE");
	else if (w->since_ns / NS_PER_S > clock_ns(CLOCK_REALTIME) / NS_PER_S)
		reply_error(w->reply, CONTROL_ERROR_NOT_FOUND,
			    "no samples: the range begins in the future; a time without a day is "
			    "today's");
	else if (w->session)
		reply_error(w->reply, CONTROL_ERROR_NOT_FOUND,
			    "no samples of session s%" PRIu64 " in this range", w->session);
	else
		reply_error(w->reply, CONTROL_ERROR_NOT_FOUND,
			    "no samples match in this range (%" PRIu64
			    " windows searched); see profctl list",
			    c->n_windows);
}

/* A window, if there was one, and what is to be known of its session. */
static void answer_taken(struct waiter *w, struct flush *flush)
{
	const struct session *s = session_set_find(w->daemon->sessions, w->session);
	struct collected nothing = {.fd = -1}, *c = flush ? flush->collected : NULL;

	if (!c)
		c = &nothing;
	c->more = w->more;
	if (s) {
		c->over = s->untaken.is_over;
		c->lost = s->counts.lost;
		for (unsigned i = 0; i < N_DROPPED; i++)
			c->dropped += s->counts.dropped[i];
	}
	reply_collected(w->reply, c);
}

/* Sessions that were stopped, and whose end nobody waits to hear of, are forgotten. */
static void forget_stopped(const struct waiter *w)
{
	for (size_t i = 0; i < w->n_ids; i++) {
		struct session *s = session_set_find(w->daemon->sessions, w->ids[i]);

		if (s && s->state == SESSION_ENDED && !s->n_waiters)
			session_set_remove(w->daemon->sessions, s);
	}
}

/* What was collected may be much or little: of it, the request has paid for a little. */
static void waiter_pay(const struct waiter *w, const struct flush *flush)
{
	const uint64_t used_us = flush->used_ns / 1000;

	if (w->collects && !w->peer.privileged && used_us > DAEMON_COST_collect)
		buckets_owe(&w->daemon->buckets[false], w->peer.uid, used_us - DAEMON_COST_collect,
			    clock_ns(CLOCK_MONOTONIC));
}

static void waiter_on_done(void *userdata, struct flush *flush)
{
	const struct collected *c = flush->collected;
	struct waiter *w = userdata;

	waiter_pay(w, flush);
	forget_stopped(w);
	if (c && c->message.text[0])
		reply_error(w->reply, CONTROL_ERROR_FAILED, "%s", c->message.text);
	else if (flush->error)
		reply_error(w->reply, CONTROL_ERROR_FAILED, "%s%s: %s",
			    w->writes ? "cannot write to " : "", w->daemon->places.store_path,
			    strerror(flush->error));
	else
		w->answer(w, flush);
	if (w->collects)
		LIST_REMOVE(w, others);
	free(w->ids);
	free(w);
}

/* @wanted becomes a waiter, for *ret_flush: released by the caller when all of it was asked for. */
static int waiter_new(struct flush **ret_flush, const struct control_call *call,
		      struct waiter wanted)
{
	struct waiter *w = malloc(sizeof(*w));
	int r = w ? flush_new(ret_flush, waiter_on_done, w) : error_origin(-ENOMEM);

	if (r) {
		free(w);
		return r;
	}
	*w = wanted;
	w->daemon = call->userdata;
	w->reply = call->reply;
	w->peer = *call->peer;
	if (w->collects)
		LIST_INSERT_HEAD(&w->daemon->collecting, w, others);
	return 0;
}

/*
 * Has the output thread do what @wanted becomes a waiter for, on behalf of @s (or NULL). The
 * snapshot of @request, if that is still there, the thread did not take.
 */
static int waiter_submit(const struct control_call *call, struct waiter wanted, struct session *s,
			 struct output_request *request)
{
	struct daemon *d = call->userdata;
	struct flush_item item = {.session = s};
	int r = waiter_new(&item.flush, call, wanted);

	if (r) {
		free(wanted.ids);
		return daemon_answer_fatal(d, call->reply, r);
	}
	r = flush_item_submit(&item, d->output, request);
	if (r)
		item.flush->error = r < 0 ? -r : EBUSY;
	else
		request->snapshot = NULL;
	flush_release(item.flush);
	return CONTROL_PENDING;
}

/* Has the output thread list all files of the sessions, which are written. */
static void list_stopped(struct waiter *w, struct flush *flush)
{
	const struct control_call call = {.userdata = w->daemon,
					  .peer = &w->peer,
					  .reply = w->reply};
	struct output_request request = {.task = OUTPUT_FILES, .ids = w->ids, .n_ids = w->n_ids};

	(void)flush;
	waiter_submit(&call,
		      (struct waiter){.answer = answer_stored_files, .ids = steal_ptr(&w->ids)},
		      NULL, &request);
}

/* Stops the sessions in @ids, which is taken over; the files of all of them are the answer. */
static int stop_selected_sessions(const struct control_call *call, uint64_t *ids, size_t n)
{
	struct daemon *d = call->userdata;
	struct flush *flush;
	int r = waiter_new(
		&flush, call,
		(struct waiter){.answer = list_stopped, .writes = true, .ids = ids, .n_ids = n});

	if (r) {
		free(ids);
		return daemon_answer_fatal(d, call->reply, r);
	}
	for (size_t i = 0; !r && i < n; i++) {
		daemon_log_asked(call->peer, "session s%" PRIu64 " stopped", ids[i]);
		r = session_set_stop(d->sessions, session_set_find(d->sessions, ids[i]), flush);
	}
	flush_release(flush);
	if (r)
		daemon_fail(d, r);
	return CONTROL_PENDING;
}

/* What of @peer's there is to stop, for @pid or (0) at all; returns how many @ids. */
static size_t select_sessions(struct daemon *d, const struct peer *peer, pid_t pid, uint64_t *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < d->sessions->n_sessions; i++) {
		const struct session *s = d->sessions->sessions[i];
		bool wanted = !pid || (s->target.kind == TARGET_PID && s->target.number == pid);

		if (s->id && wanted && policy_may_control(peer, s->owner))
			ids[n++] = s->id;
	}
	return n;
}

static int refuse_several(struct reply *reply, pid_t pid, const uint64_t *ids, size_t n)
{
	char text[512] = "";
	size_t length = 0;

	for (size_t i = 0; i < n && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, " s%" PRIu64,
					   ids[i]);
	return reply_error(reply, CONTROL_ERROR_FAILED,
			   "pid %d has several sessions, stop one by its id:%s", pid, text);
}

int daemon_verb_stop(const struct control_call *call)
{
	const Profd__Control__Stop *stop = call->message;
	bool has_id = stop->which_case == PROFD__CONTROL__STOP__WHICH_ID;
	bool has_pid = stop->which_case == PROFD__CONTROL__STOP__WHICH_PID;
	pid_t pid = has_pid ? (pid_t)stop->pid : 0;
	cleanup(freep) uint64_t *ids = NULL;
	struct daemon *d = call->userdata;
	struct source_message why;
	size_t n = 1;
	int r = request_check_stop(stop, &why);

	if (r)
		return request_refuse(call, r, &why);
	if (has_id && !daemon_find_session(d, call, stop->id))
		return CONTROL_DONE;
	ids = calloc(d->sessions->n_sessions + 1, sizeof(*ids));
	if (!ids)
		return daemon_answer_fatal(d, call->reply, error_origin(-ENOMEM));
	if (has_id)
		ids[0] = stop->id;
	else
		n = select_sessions(d, call->peer, pid, ids);
	if (!pid || n == 1)
		return stop_selected_sessions(call, steal_ptr(&ids), n);
	return n ? refuse_several(call->reply, pid, ids, n)
		 : reply_error(call->reply, CONTROL_ERROR_NOT_FOUND,
			       "you have no session for pid %d", pid);
}

int daemon_verb_flush(const struct control_call *call)
{
	const Profd__Control__Flush *message = call->message;
	struct daemon *d = call->userdata;
	struct session *only = NULL;
	struct flush *flush;
	int r;

	if (message->id) {
		only = daemon_find_session(d, call, message->id);
		if (!only)
			return CONTROL_DONE;
	}
	r = waiter_new(&flush, call, (struct waiter){.answer = answer_files, .writes = true});
	if (r)
		return daemon_answer_fatal(d, call->reply, r);
	for (size_t i = 0; !r && i < d->sessions->n_sessions; i++) {
		struct session *s = d->sessions->sessions[i];

		if ((!only || s == only) && policy_may_control(call->peer, s->owner))
			r = session_set_flush(d->sessions, s, flush);
	}
	flush_release(flush);
	if (r)
		daemon_fail(d, r);
	return CONTROL_PENDING;
}

int daemon_verb_epoch(const struct control_call *call)
{
	struct output_request epoch = {.task = OUTPUT_EPOCH};

	return waiter_submit(call, (struct waiter){.answer = answer_epoch, .writes = true}, NULL,
			     &epoch);
}

/* What the store's index answers, with the open window of the system session if need be. */
static int read_index(const struct control_call *call, struct output_request *request,
		      bool wants_open, void (*answer)(struct waiter *w, struct flush *flush))
{
	struct daemon *d = call->userdata;
	struct session *s = session_set_find(d->sessions, 0);
	int r = 0;

	if (s && wants_open)
		r = session_set_copy_window(d->sessions, s, NULL, &request->snapshot);
	r = r ? daemon_answer_fatal(d, call->reply, r)
	      : waiter_submit(call, (struct waiter){.answer = answer}, NULL, request);
	snapshot_free(request->snapshot);
	return r;
}

int daemon_verb_list(const struct control_call *call)
{
	Profd__Control__List *list = call->message;
	struct output_request request = {.task = OUTPUT_LIST};
	struct source_message why;
	int r = request_check_list(list, &why);

	if (r)
		return request_refuse(call, r, &why);
	request.list = (struct listing_options){
		.service = *list->service ? list->service : NULL,
		.since_ns = list->since_ns,
		.until_ns = list->until_ns,
		.windows = list->windows,
	};
	return read_index(call, &request, !request.list.service && !list->windows, answer_listing);
}

int daemon_verb_usage(const struct control_call *call)
{
	const Profd__Control__Usage *usage = call->message;
	struct output_request request = {.task = OUTPUT_USAGE,
					 .steps = usage->steps,
					 .limit = usage->limit};
	struct source_message why;
	int r = request_check_usage(usage, &why);

	if (r)
		return request_refuse(call, r, &why);
	request.what.service = *usage->text ? usage->text : NULL;
	request.what.select.since_ns = usage->since_ns;
	request.what.select.until_ns = usage->until_ns;
	return read_index(call, &request, true, answer_usage);
}

/*
 * Without privileges: only what the program that runs there now has done, because whatever was
 * there before it may have been somebody else's. Nothing says of a stored sample which program it
 * is of: so windows must have begun after it did.
 */
static int restrict_to_program(struct daemon *d, const struct peer *peer, pid_t pid,
			       struct collect_options *options, struct window_filter *filter,
			       bool *ret)
{
	uint64_t born_ns, now_ns = clock_ns(CLOCK_MONOTONIC);
	struct process *p;
	int r = source_drain(d->source, UINT32_MAX); /* an exec may not have been seen yet */

	if (r < 0)
		return r;
	*ret = false;
	p = process_table_living(d->processes, pid);
	if (!p)
		return 0;
	r = process_table_confirm_again(d->processes, p);
	*ret = p->uid_known && p->only_uid && p->uid == peer->uid;
	if (r || !*ret)
		return r;
	born_ns = p->born_ns ? p->born_ns : d->started_ns;
	filter->serial = p->serial;
	options->service = process_unit_service(p->unit);
	options->select.is_restricted = true;
	/* A second more: windows are told apart by whole ones. */
	options->select.not_before_s = (clock_ns(CLOCK_REALTIME) - (now_ns - born_ns)) / NS_PER_S +
				       1;
	return 0;
}

/* Whether as many collect already as may. */
static bool is_busy(const struct daemon *d, const struct peer *peer)
{
	struct places places = {.max = COLLECTING_MAX};
	const struct waiter *w;

	LIST_FOREACH(w, &d->collecting, others)
	places_count(&places, peer, w->peer.uid, w->peer.privileged);
	return !places_has_room(&places, peer);
}

/*
 * One window of a live session. It is no more work than to write one, and waits for none of those
 * that collect from the store: a client that takes windows would lose what comes meanwhile.
 */
static int collect_live_window(const struct control_call *call, struct session *s, uint64_t id)
{
	const Profd__Control__Collect *collect = call->message;
	struct daemon *d = call->userdata;
	struct output_request request = {
		.task = OUTPUT_COLLECT,
		.what = {.session = id,
			 .max_bytes = d->config->memory_budget / MERGED_PART,
			 .max_result = d->config->memory_budget / RESULT_PART,
			 .open_only = true,
			 .times = collect->times,
			 .at_once = true},
	};
	struct waiter wanted = {
		.answer = answer_taken, .daemon = d, .reply = call->reply, .session = id};
	int r;

	if (!s || !s->is_live || s->n_in_flight)
		return reply_error(call->reply, s ? CONTROL_ERROR_FAILED : CONTROL_ERROR_NOT_FOUND,
				   !s ? "there is no session s%" PRIu64 " now"
				   : s->is_live
					   ? "another client takes the samples of session s%" PRIu64
					   : "session s%" PRIu64
					     " writes its windows to files: they cannot be taken",
				   id);
	r = session_set_take_window(d->sessions, s, &request.snapshot, &wanted.more);
	if (r)
		return daemon_answer_fatal(d, call->reply, r);
	if (!request.snapshot) {
		answer_taken(&wanted, NULL);
		return CONTROL_DONE;
	}
	r = waiter_submit(call, wanted, s, &request);
	if (request.snapshot)
		session_set_give_back(s, request.snapshot);
	return r;
}

/* One file of the store: its windows count by their beginnings, which its neighbours do not share.
 */
static int collect_file(const struct control_call *call)
{
	const Profd__Control__Collect *collect = call->message;
	struct daemon *d = call->userdata;
	struct output_request output = {
		.task = OUTPUT_COLLECT,
		.what = {.file = collect->file,
			 .select = {.not_before_s = collect->since_ns / NS_PER_S,
				    .until_ns = collect->until_ns},
			 .max_bytes = d->config->memory_budget / MERGED_PART,
			 .max_result = d->config->memory_budget / RESULT_PART,
			 .times = collect->times},
	};
	const struct waiter wanted = {.answer = answer_collected,
				      .collects = true,
				      .is_file = true};

	return waiter_submit(call, wanted, NULL, &output);
}

static int collect_stored(const struct control_call *call, struct session *s, uint64_t id)
{
	const Profd__Control__Collect *collect = call->message;
	bool by_service = collect->which_case == PROFD__CONTROL__COLLECT__WHICH_SERVICE;
	bool by_pid = collect->which_case == PROFD__CONTROL__COLLECT__WHICH_PID;
	struct daemon *d = call->userdata;
	struct window_filter filter = {.service = by_service ? collect->service : NULL,
				       .pid = by_pid ? (pid_t)collect->pid : 0};
	struct output_request output = {
		.task = OUTPUT_COLLECT,
		.what = {.service = filter.service,
			 .session = id,
			 .select = {.since_ns = collect->since_ns,
				    .until_ns = collect->until_ns,
				    .has_pid = by_pid,
				    .pid = filter.pid},
			 .max_bytes = d->config->memory_budget / MERGED_PART,
			 .max_result = d->config->memory_budget / RESULT_PART,
			 .open_only = collect->open,
			 .times = collect->times},
	};
	bool is_known = true;
	int r = 0;

	if (!call->peer->privileged && by_pid)
		r = restrict_to_program(d, call->peer, filter.pid, &output.what, &filter,
					&is_known);
	if (!r && !is_known)
		return reply_error(call->reply, CONTROL_ERROR_NOT_FOUND,
				   "profd does not know process %d", filter.pid);
	if (!r && s && !collect->stored)
		r = session_set_copy_window(d->sessions, s, &filter, &output.snapshot);
	r = r ? daemon_answer_fatal(d, call->reply, r)
	      : waiter_submit(call,
			      (struct waiter){.answer = answer_collected,
					      .collects = true,
					      .since_ns = collect->since_ns,
					      .session = id},
			      NULL, &output);
	snapshot_free(output.snapshot);
	return r;
}

int daemon_verb_collect(const struct control_call *call)
{
	Profd__Control__Collect *collect = call->message;
	struct daemon *d = call->userdata;
	struct source_message why;
	struct session *s;
	uint64_t id = 0; /* the system's */
	int r = request_check_collect(collect, &why);

	if (!r && !collect->take && is_busy(d, call->peer))
		return CONTROL_BUSY;
	if (!r)
		r = policy_check_collect(call->peer, call->proc_fd, collect, &why);
	if (r)
		return request_refuse(call, r, &why);
	if (collect->which_case == PROFD__CONTROL__COLLECT__WHICH_FILE)
		return collect_file(call);
	if (collect->which_case == PROFD__CONTROL__COLLECT__WHICH_SESSION)
		id = collect->session;
	/* The privileged have those of the store, too. */
	if (id && !call->peer->privileged && !daemon_find_session(d, call, id))
		return CONTROL_DONE;
	s = session_set_find(d->sessions, id);
	return collect->take ? collect_live_window(call, s, id) : collect_stored(call, s, id);
}

int daemon_verb_vacuum(const struct control_call *call)
{
	const Profd__Control__Vacuum *vacuum = call->message;
	struct output_request request = {
		.task = OUTPUT_VACUUM,
		.max_age_s = vacuum->max_age_ns / NS_PER_S + (vacuum->max_age_ns % NS_PER_S != 0),
		.max_size = vacuum->max_size_bytes,
		.is_dry_run = vacuum->dry_run,
	};
	const struct waiter wanted = {.answer = answer_vacuumed, .is_dry_run = vacuum->dry_run};

	return waiter_submit(call, wanted, NULL, &request);
}
