/* SPDX-License-Identifier: MIT */
/*
 * The operations that end with files, or with what is known of them: they are answered when the
 * output thread has written all that was asked for before.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/store/names.h"
#include "daemon/daemon_private.h"

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
	cleanup(freep) uint64_t *ids = calloc(session_set_count(d->sessions) + 1, sizeof(*ids));
	cleanup(freep) struct waiter *w = calloc(1, sizeof(*w));
	int r;

	if (!w || !ids)
		return error_origin(-ENOMEM);
	r = flush_new(ret_flush, file_waiter_on_written, w);
	if (r)
		return r;
	w->daemon = d;
	w->reply = reply;
	w->ids = steal_ptr(&ids);
	*ret = steal_ptr(&w);
	return 0;
}

struct paths {
	char **paths; /* NULL-terminated */
	size_t n;
};

static void paths_deinit(struct paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->paths[i]);
	free(p->paths);
}

static int paths_add(struct paths *p, char *path)
{
	char **moved = path ? reallocarray(p->paths, p->n + 2, sizeof(*moved)) : NULL;

	if (!moved) {
		free(path);
		return error_origin(-ENOMEM);
	}
	p->paths = moved;
	p->paths[p->n++] = path;
	p->paths[p->n] = NULL;
	return 0;
}

static int path_compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of a session, as they lie in its folder now. */
static int add_session_files(struct daemon *d, const struct session *s, struct paths *ret)
{
	char name[NAMES_ESCAPED_MAX + 1], folder[sizeof(name) + 16];
	size_t first = ret->n;
	struct dirent *entry;
	int fd, r = 0;
	DIR *dir;

	/* The store escapes what a target's name may hold: "s1-cgroup-/x" is one folder. */
	names_escape(s->directory, NAMES_ESCAPED_MAX, name);
	snprintf(folder, sizeof(folder), "sessions/%s", name);
	fd = openat(d->store_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0; /* it wrote nothing */
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return error_origin(-ENOMEM);
	}
	while (!r && (entry = readdir(dir))) {
		char *path;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&path, "%s/%s/%s", d->store_path, folder, entry->d_name) < 0)
			path = NULL;
		r = paths_add(ret, path);
	}
	closedir(dir);
	if (ret->n > first)
		qsort(ret->paths + first, ret->n - first, sizeof(char *), path_compare_text);
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
		if (s->state == SESSION_ENDED && !s->n_waiting)
			session_set_remove(d->sessions, s);
	}
	if (r)
		daemon_answer_fatal(d, w->reply, r);
	else if (error)
		reply_error(w->reply, CONTROL_ERROR_FAILED, "cannot write to %s: %s", d->store_path,
			    strerror(error));
	else
		reply_paths(w->reply, paths.paths ? paths.paths : (char *[]){NULL});
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
			    w->daemon->store_path, strerror(flush->error));
	else if (w->kind == WAITS_FOR_NAME)
		reply_text(w->reply, flush->n_paths ? flush->paths[0] : "");
	else
		reply_paths(w->reply, flush->paths ? flush->paths : (char *[]){NULL});
	free(w->ids);
	free(w);
}

/* Stops the sessions in @ids; the files of all of them are the answer. */
static int stop_selected_sessions(struct daemon *d, const uint64_t *ids, size_t n,
				  struct reply *reply)
{
	struct flush *flush;
	struct waiter *w;
	int r;

	r = file_waiter_new(&w, &flush, d, reply);
	if (r)
		return daemon_answer_fatal(d, reply, r);
	w->kind = WAITS_FOR_STOP;
	for (size_t i = 0; !r && i < n; i++) {
		w->ids[w->n_ids++] = ids[i];
		r = session_set_stop(d->sessions, session_set_find(d->sessions, ids[i]), flush);
	}
	flush_release(flush);
	if (r)
		daemon_fail(d, r);
	return CONTROL_PENDING;
}

int daemon_op_stop(void *userdata, const struct peer *peer, uint64_t id, struct reply *reply)
{
	struct daemon *d = userdata;
	struct session *s = id ? session_set_find(d->sessions, id) : NULL;

	if (!s) {
		reply_error(reply, CONTROL_ERROR_FAILED, "there is no session s%" PRIu64, id);
		return CONTROL_DONE;
	}
	if (!policy_may_control(peer, s->owner)) {
		reply_error(reply, CONTROL_ERROR_DENIED, "session s%" PRIu64 " is not yours", id);
		return CONTROL_DONE;
	}
	return stop_selected_sessions(d, &id, 1, reply);
}

struct selection {
	uint64_t *ids;
	size_t n;
	char text[512]; /* "s1 s2 ...", or how it begins */
};

static void selection_deinit(struct selection *s)
{
	free(s->ids);
}

/* Those of the peer's for @pid, or all of them. 0 or negative errno. */
static int select_sessions(struct daemon *d, const struct peer *peer, pid_t pid,
			   struct selection *ret)
{
	size_t length = 0;

	ret->ids = calloc(session_set_count(d->sessions) + 1, sizeof(*ret->ids));
	if (!ret->ids)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < session_set_count(d->sessions); i++) {
		const struct session *s = session_set_get(d->sessions, i);
		bool wanted = !pid || (s->target.kind == TARGET_PID && s->target.number == pid);

		if (!s->id || !wanted || !policy_may_control(peer, s->owner))
			continue;
		ret->ids[ret->n++] = s->id;
		if (length < sizeof(ret->text))
			length += (size_t)snprintf(ret->text + length, sizeof(ret->text) - length,
						   " s%" PRIu64, s->id);
	}
	return 0;
}

int daemon_op_stop_pid(void *userdata, const struct peer *peer, pid_t pid, struct reply *reply)
{
	cleanup(selection_deinit) struct selection selection = {};
	struct daemon *d = userdata;
	int r = select_sessions(d, peer, pid, &selection);

	if (r)
		return daemon_answer_fatal(d, reply, r);
	if (selection.n == 0) {
		reply_error(reply, CONTROL_ERROR_FAILED, "no session of yours is for pid %d", pid);
		return CONTROL_DONE;
	}
	if (selection.n > 1) {
		reply_error(reply, CONTROL_ERROR_FAILED,
			    "pid %d has several sessions, stop one by its id:%s", pid,
			    selection.text);
		return CONTROL_DONE;
	}
	return stop_selected_sessions(d, selection.ids, 1, reply);
}

int daemon_op_stop_all(void *userdata, const struct peer *peer, struct reply *reply)
{
	cleanup(selection_deinit) struct selection selection = {};
	struct daemon *d = userdata;
	int r = select_sessions(d, peer, 0, &selection);

	if (r)
		return daemon_answer_fatal(d, reply, r);
	return stop_selected_sessions(d, selection.ids, selection.n, reply);
}

int daemon_op_flush(void *userdata, const struct peer *peer, uint64_t id, struct reply *reply)
{
	struct daemon *d = userdata;
	struct session *only = id ? session_set_find(d->sessions, id) : NULL;
	struct flush *flush;
	struct waiter *w;
	int r;

	if (id && !only) {
		reply_error(reply, CONTROL_ERROR_FAILED, "there is no session s%" PRIu64, id);
		return CONTROL_DONE;
	}
	if (only && !policy_may_control(peer, only->owner)) {
		reply_error(reply, CONTROL_ERROR_DENIED, "session s%" PRIu64 " is not yours", id);
		return CONTROL_DONE;
	}
	r = file_waiter_new(&w, &flush, d, reply);
	if (r)
		return daemon_answer_fatal(d, reply, r);
	for (size_t i = 0; !r && i < session_set_count(d->sessions); i++) {
		struct session *s = session_set_get(d->sessions, i);

		if ((!only || s == only) && policy_may_control(peer, s->owner))
			r = session_set_flush(d->sessions, s, flush);
	}
	flush_release(flush);
	if (r)
		daemon_fail(d, r);
	return CONTROL_PENDING;
}

/* Sends something other than a snapshot through the output thread, and waits for it. */
static int submit_output_request(struct daemon *d, struct reply *reply,
				 int (*submit)(struct output *o, void *request,
					       const void *arguments),
				 const void *arguments)
{
	cleanup(freep) struct flush_item *item = calloc(1, sizeof(*item));
	struct waiter *w;
	int r;

	if (!item)
		return daemon_answer_fatal(d, reply, error_origin(-ENOMEM));
	r = file_waiter_new(&w, &item->flush, d, reply);
	if (r)
		return daemon_answer_fatal(d, reply, r);
	w->kind = WAITS_FOR_NAME;
	r = submit(d->output, item, arguments);
	if (r) {
		item->flush->error = r < 0 ? -r : EBUSY;
		flush_release(item->flush);
		return CONTROL_PENDING;
	}
	steal_ptr(&item);
	return CONTROL_PENDING;
}

static int submit_epoch(struct output *o, void *request, const void *arguments)
{
	(void)arguments;
	return output_submit_epoch(o, request);
}

int daemon_op_epoch(void *userdata, struct reply *reply)
{
	return submit_output_request(userdata, reply, submit_epoch, NULL);
}

struct list_arguments {
	const char *service;
	uint64_t since_ns, until_ns;
};

static int submit_list(struct output *o, void *request, const void *arguments)
{
	const struct list_arguments *a = arguments;

	return output_submit_list(o, a->service, a->since_ns, a->until_ns, request);
}

int daemon_op_list(void *userdata, const char *service, uint64_t since_ns, uint64_t until_ns,
		   struct reply *reply)
{
	return submit_output_request(userdata, reply, submit_list,
				     &(struct list_arguments){service, since_ns, until_ns});
}
