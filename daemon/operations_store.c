/* SPDX-License-Identifier: MIT */
/* The operations on what is stored: collect and vacuum. The output thread does the work. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/control/policy.h"
#include "daemon/control/request.h"
#include "daemon/daemon_private.h"

/* Profiles that are collected at the same time, and by how many without privileges. */
#define COLLECTING_MAX              4
#define COLLECTING_MAX_UNPRIVILEGED 1

/* Parts of the memory budget. */
#define MERGED_PART 16 /* samples, names and addresses while they are merged */
#define RESULT_PART 8  /* the result, compressed */

struct operations_store_asker {
	struct daemon *daemon;
	struct reply *reply;
	bool privileged, is_vacuum;
	bool is_take, more;
	uint64_t since_ns, session; /* of what is collected */
};

static void store_client_free(struct operations_store_asker *a)
{
	if (!a->is_vacuum && !a->is_take) {
		a->daemon->n_collecting--;
		a->daemon->n_collecting_unprivileged -= !a->privileged;
	}
	free(a);
}

static void answer_no_samples(const struct operations_store_asker *a, const struct collected *c)
{
	if (a->since_ns / NS_PER_S > clock_ns(CLOCK_REALTIME) / NS_PER_S)
		reply_error(a->reply, CONTROL_ERROR_FAILED,
			    "no samples: the range begins in the future; a time without a day is "
			    "today's");
	else if (a->session)
		reply_error(a->reply, CONTROL_ERROR_FAILED,
			    "no samples of session s%" PRIu64 " in this range", a->session);
	else
		reply_error(a->reply, CONTROL_ERROR_FAILED,
			    "no samples match in this range (%" PRIu64
			    " windows searched); see profctl list",
			    c->n_windows);
}

static void answer_vacuumed(struct reply *reply, const struct flush *flush)
{
	Profd__Control__Vacuumed vacuumed = PROFD__CONTROL__VACUUMED__INIT;

	vacuumed.files = flush->freed_files;
	vacuumed.bytes = flush->freed_bytes;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_VACUUMED, &vacuumed);
}

/* What is to be known of the session whose window was taken. */
static void collected_add_losses(const struct operations_store_asker *a, struct collected *c)
{
	const struct session *s = session_set_find(a->daemon->sessions, a->session);

	c->more = a->more;
	if (!s)
		return;
	c->over = s->untaken.is_over;
	c->lost = s->counts.lost;
	for (unsigned i = 0; i < N_DROPPED; i++)
		c->dropped += s->counts.dropped[i];
}

static void store_client_on_done(void *userdata, struct flush *flush)
{
	struct operations_store_asker *a = userdata;
	struct collected *c = flush->collected;

	if (c && a->is_take)
		collected_add_losses(a, c);
	if (c && c->message.text[0])
		reply_error(a->reply, CONTROL_ERROR_FAILED, "%s", c->message.text);
	else if (flush->error)
		reply_error(a->reply, CONTROL_ERROR_FAILED, "%s: %s", a->daemon->places.store_path,
			    strerror(flush->error));
	else if (a->is_vacuum)
		answer_vacuumed(a->reply, flush);
	else if (c->fd < 0)
		answer_no_samples(a, c);
	else
		reply_collected(a->reply, c);
	store_client_free(a);
}

static int store_client_new(struct flush_item **ret, struct daemon *d, struct reply *reply,
			    const struct output_request *request, bool privileged)
{
	cleanup(freep) struct flush_item *item = calloc(1, sizeof(*item));
	cleanup(freep) struct operations_store_asker *a = calloc(1, sizeof(*a));
	int r;

	if (!item || !a)
		return error_origin(-ENOMEM);
	*a = (struct operations_store_asker){
		.daemon = d,
		.reply = reply,
		.privileged = privileged,
		.is_vacuum = request->task == OUTPUT_VACUUM,
		.is_take = request->what.open_only,
		.since_ns = request->what.select.since_ns,
		.session = request->what.session,
	};
	r = flush_new(&item->flush, store_client_on_done, a);
	if (r)
		return r;
	if (!a->is_vacuum && !a->is_take) {
		d->n_collecting++;
		d->n_collecting_unprivileged += !privileged;
	}
	steal_ptr(&a);
	*ret = steal_ptr(&item);
	return 0;
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
	options->service = p->unit->service;
	options->select.no_kernel = true;
	/* A second more: windows are told apart by whole ones. */
	options->select.not_before_s = clock_ns(CLOCK_REALTIME) / NS_PER_S -
				       (now_ns - born_ns) / NS_PER_S + 1;
	return 0;
}

static bool collect_is_refused(struct daemon *d, const struct control_call *call,
			       const struct collect_request *request, const struct session *s)
{
	if (!request->take && (d->n_collecting >= COLLECTING_MAX ||
			       (!call->peer->privileged &&
				d->n_collecting_unprivileged >= COLLECTING_MAX_UNPRIVILEGED) ||
			       d->sessions->flusher.first)) {
		reply_error(call->reply, CONTROL_ERROR_FAILED,
			    "profd is busy collecting; try again");
		return true;
	}
	if (!request->session || call->peer->privileged ||
	    (s && policy_may_control(call->peer, s->owner)))
		return false;
	if (s)
		reply_error(call->reply, CONTROL_ERROR_DENIED, "session s%" PRIu64 " is not yours",
			    request->session);
	else
		reply_error(call->reply, CONTROL_ERROR_FAILED,
			    "there is no session s%" PRIu64
			    " now; you can read the files of your own sessions that have ended",
			    request->session);
	return true;
}

/*
 * One window of a live session. It is no more work than to write one, and waits for none of those
 * who collect from the store: whoever takes would lose what comes meanwhile.
 */
static int collect_live_window(struct daemon *d, struct session *s, uint64_t id,
			       struct reply *reply)
{
	struct output_request request = {
		.task = OUTPUT_COLLECT,
		.what = {.session = id,
			 .max_bytes = d->config->memory_budget / MERGED_PART,
			 .max_result = d->config->memory_budget / RESULT_PART,
			 .open_only = true},
	};
	struct operations_store_asker nothing = {.daemon = d, .session = id};
	struct collected collected = {.fd = -1};
	struct flush_item *item = NULL;
	struct operations_store_asker *a;
	bool more;
	int r;

	if (!s || !s->is_live || s->n_in_flight)
		return reply_error(reply, CONTROL_ERROR_FAILED,
				   !s ? "there is no session s%" PRIu64 " now"
				   : s->is_live
					   ? "another client takes the samples of session s%" PRIu64
					   : "session s%" PRIu64
					     " writes its windows to files: they cannot be taken",
				   id);
	r = session_set_take_window(d->sessions, s, &request.snapshot, &more);
	if (r)
		return daemon_answer_fatal(d, reply, r);
	if (!request.snapshot) {
		collected_add_losses(&nothing, &collected);
		reply_collected(reply, &collected);
		return CONTROL_DONE;
	}
	r = store_client_new(&item, d, reply, &request, true);
	if (r) {
		session_set_give_back(s, request.snapshot);
		return daemon_answer_fatal(d, reply, r);
	}
	a = item->flush->userdata;
	a->more = more;
	item->session = s;
	r = daemon_submit(d, &request, item);
	if (request.snapshot)
		session_set_give_back(s, request.snapshot);
	return r;
}

static int collect_stored(struct daemon *d, const struct control_call *call,
			  const struct collect_request *request, struct session *s)
{
	struct window_filter filter = {.service = request->service, .pid = request->pid};
	struct output_request output = {
		.task = OUTPUT_COLLECT,
		.what = {.service = request->service,
			 .session = request->session,
			 .select = {.since_ns = request->since_ns,
				    .until_ns = request->until_ns,
				    .has_pid = request->pid != 0,
				    .pid = request->pid},
			 .max_bytes = d->config->memory_budget / MERGED_PART,
			 .max_result = d->config->memory_budget / RESULT_PART},
	};
	struct flush_item *item = NULL;
	bool is_known = true;
	int r = 0;

	if (!call->peer->privileged && request->pid)
		r = restrict_to_program(d, call->peer, request->pid, &output.what, &filter,
					&is_known);
	if (!r && !is_known)
		return reply_error(call->reply, CONTROL_ERROR_FAILED,
				   "profd does not know process %d", request->pid);
	if (!r && s && !request->stored)
		r = session_set_copy_window(d->sessions, s, &filter, &output.snapshot);
	if (!r)
		r = store_client_new(&item, d, call->reply, &output, call->peer->privileged);
	r = r ? daemon_answer_fatal(d, call->reply, r) : daemon_submit(d, &output, item);
	snapshot_free(output.snapshot);
	return r;
}

int daemon_verb_collect(const struct control_call *call)
{
	struct daemon *d = call->userdata;
	struct collect_request request;
	struct request_message why;
	struct session *s;
	int r = request_read_collect(call->message, &request, &why);

	if (!r)
		r = policy_check_collect(call->peer, call->proc_fd, &request, &why);
	if (r)
		return request_refuse(call, r, &why);
	s = session_set_find(d->sessions, request.session); /* 0: the system's */
	if (collect_is_refused(d, call, &request, s))
		return CONTROL_DONE;
	return request.take ? collect_live_window(d, s, request.session, call->reply)
			    : collect_stored(d, call, &request, s);
}

int daemon_verb_vacuum(const struct control_call *call)
{
	const Profd__Control__Vacuum *vacuum = call->message;
	struct output_request request = {
		.task = OUTPUT_VACUUM,
		.max_age_s = vacuum->max_age_ns / NS_PER_S + (vacuum->max_age_ns % NS_PER_S != 0),
		.max_size = vacuum->max_size_bytes,
	};
	struct daemon *d = call->userdata;
	struct flush_item *item = NULL;
	int r = store_client_new(&item, d, call->reply, &request, true);

	return r ? daemon_answer_fatal(d, call->reply, r) : daemon_submit(d, &request, item);
}
