/* SPDX-License-Identifier: MIT */
/*
 * The operations that end with files, or with what is known of them: they are answered when the
 * output thread has written all that was asked for before.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/store/names.h"
#include "daemon/control/policy.h"
#include "daemon/control/request.h"
#include "daemon/daemon_private.h"
#include "daemon/output/store.h"

/* Who waits for files: the reply, and the sessions whose files are to be listed. */
struct waiter {
	struct daemon *daemon;
	struct reply *reply;
	enum { WAITS_FOR_FILES, WAITS_FOR_STOP, WAITS_FOR_NAME } kind;
	uint64_t *ids;
	size_t n_ids;
};

static void file_waiter_on_written(void *userdata, struct flush *flush);

/* *ret_flush is released by the caller when it has asked for all it waits for. */
static int file_waiter_new(struct waiter **ret, struct flush **ret_flush, struct daemon *d,
			   struct reply *reply)
{
	cleanup(freep) struct waiter *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_origin(-ENOMEM);
	r = flush_new(ret_flush, file_waiter_on_written, w);
	if (r)
		return r;
	w->daemon = d;
	w->reply = reply;
	*ret = steal_ptr(&w);
	return 0;
}

static int path_compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of a session, as they lie in its directory now. */
static int add_session_files(struct daemon *d, const struct session *s, struct paths *ret)
{
	char name[NAMES_ESCAPED_MAX + 1], path[sizeof(name) + 16];
	size_t first = ret->n;
	struct dirent *entry;
	int fd, r = 0;
	DIR *dir;

	/* The store escapes what a target's name may hold: "s1-cgroup-/x" is one directory. */
	names_escape(s->directory, NAMES_ESCAPED_MAX, name);
	snprintf(path, sizeof(path), "sessions/%s", name);
	fd = openat(d->places.store_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0; /* it wrote nothing */
	dir = store_dir_of(fd);
	if (!dir)
		return error_origin(-ENOMEM);
	while (!r && (entry = readdir(dir))) {
		char *file;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&file, "%s/%s/%s", d->places.store_path, path, entry->d_name) < 0)
			file = NULL;
		r = paths_add(ret, file);
	}
	closedir(dir);
	if (ret->n > first)
		qsort(ret->all + first, ret->n - first, sizeof(char *), path_compare_text);
	return r;
}

static void answer_stopped(struct waiter *w, int error)
{
	cleanup(paths_deinit) struct paths paths = {};
	struct daemon *d = w->daemon;
	int r = 0;

	for (size_t i = 0; i < w->n_ids; i++) {
		struct session *s = session_set_find(d->sessions, w->ids[i]);

		if (!s)
			continue;
		if (!r)
			r = add_session_files(d, s, &paths);
		if (s->state == SESSION_ENDED && !s->waiters.n)
			session_set_remove(d->sessions, s);
	}
	if (r)
		daemon_answer_fatal(d, w->reply, r);
	else if (error)
		reply_error(w->reply, CONTROL_ERROR_FAILED, "cannot write to %s: %s",
			    d->places.store_path, strerror(error));
	else
		reply_paths(w->reply, paths.all);
}

static void file_waiter_on_written(void *userdata, struct flush *flush)
{
	struct waiter *w = userdata;

	if (w->kind == WAITS_FOR_STOP)
		answer_stopped(w, flush->error);
	else if (flush->listing)
		reply_listing(w->reply, flush->listing);
	else if (flush->error)
		reply_error(w->reply, CONTROL_ERROR_FAILED, "cannot write to %s: %s",
			    w->daemon->places.store_path, strerror(flush->error));
	else if (w->kind == WAITS_FOR_NAME)
		reply_text(w->reply, flush->paths.n ? flush->paths.all[0] : "");
	else
		reply_paths(w->reply, flush->paths.all);
	free(w->ids);
	free(w);
}

/* Stops the sessions in @ids, which is taken over; the files of all of them are the answer. */
static int stop_selected_sessions(struct daemon *d, uint64_t *taken, size_t n, struct reply *reply)
{
	cleanup(freep) uint64_t *ids = taken;
	struct flush *flush;
	struct waiter *w = NULL;
	int r;

	r = file_waiter_new(&w, &flush, d, reply);
	if (r)
		return daemon_answer_fatal(d, reply, r);
	w->kind = WAITS_FOR_STOP;
	w->ids = steal_ptr(&ids);
	for (; !r && w->n_ids < n; w->n_ids++)
		r = session_set_stop(d->sessions, session_set_find(d->sessions, w->ids[w->n_ids]),
				     flush);
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
	struct request_message why;
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
		return stop_selected_sessions(d, steal_ptr(&ids), n, call->reply);
	return n ? refuse_several(call->reply, pid, ids, n)
		 : reply_error(call->reply, CONTROL_ERROR_FAILED, "you have no session for pid %d",
			       pid);
}

int daemon_verb_flush(const struct control_call *call)
{
	const Profd__Control__Flush *message = call->message;
	struct daemon *d = call->userdata;
	struct session *only = NULL;
	struct flush *flush;
	struct waiter *w = NULL;
	int r;

	if (message->id) {
		only = daemon_find_session(d, call, message->id);
		if (!only)
			return CONTROL_DONE;
	}
	r = file_waiter_new(&w, &flush, d, call->reply);
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

int daemon_submit(struct daemon *d, struct output_request *request, struct flush_item *item)
{
	int r;

	request->cookie = item;
	r = output_submit(d->output, request);
	if (!r) {
		request->snapshot = NULL;
		return CONTROL_PENDING;
	}
	item->flush->error = r < 0 ? -r : EBUSY;
	flush_release(item->flush);
	free(item);
	return CONTROL_PENDING;
}

/* Has something made that is no snapshot, for which the reply waits. */
static int name_waiter_submit(const struct control_call *call, struct output_request *request)
{
	cleanup(freep) struct flush_item *item = calloc(1, sizeof(*item));
	struct daemon *d = call->userdata;
	struct waiter *w = NULL;
	int r = item ? file_waiter_new(&w, &item->flush, d, call->reply) : error_origin(-ENOMEM);

	if (r)
		return daemon_answer_fatal(d, call->reply, r);
	w->kind = WAITS_FOR_NAME;
	return daemon_submit(d, request, steal_ptr(&item));
}

int daemon_verb_epoch(const struct control_call *call)
{
	struct output_request epoch = {.task = OUTPUT_EPOCH};

	return name_waiter_submit(call, &epoch);
}

int daemon_verb_list(const struct control_call *call)
{
	Profd__Control__List *list = call->message;
	struct output_request request = {.task = OUTPUT_LIST};
	struct request_message why;
	int r = request_check_list(list, &why);

	if (r)
		return request_refuse(call, r, &why);
	request.what.service = *list->service ? list->service : NULL;
	request.what.select.since_ns = list->since_ns;
	request.what.select.until_ns = list->until_ns;
	return name_waiter_submit(call, &request);
}
