/* SPDX-License-Identifier: MIT */
/*
 * A viewer waits, runs, and has answered or failed. When it ends, its process is killed, which
 * takes the kernel a moment: until its pidfd shows the end, the process keeps its place, in the
 * list of those that are dying, and only then the next one is started.
 */
#include "client/gateway/api/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <utlist.h>

#include "client/gateway/view/view_protocol.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/helper/child.h"
#include "common/helper/fd_packet.h"
#include "common/text_print.h"

#define TIMEOUT_MS  15000u
#define KILLED_MS   1000 /* without a pidfd */
#define ACCURACY_US 1000

struct viewer_process {
	struct viewers *owner;
	struct child child;
	sd_event_source *ended; /* it is dying */
	struct viewer_process *prev, *next;
};

struct viewers {
	struct viewers_options options;
	char *program;
	unsigned n_running, n_waiting;
	struct viewer *waiting;
	struct viewer_process *dying;
};

struct viewer {
	struct viewers *owner;
	struct view_request message;
	int files[VIEW_FILES_MAX];
	void (*done)(void *userdata, struct viewer_result *result);
	void *userdata;
	struct viewer_process *process; /* NULL: it waits, or has ended */
	int socket;
	bool is_waiting;
	sd_event_source *io, *deadline;
	struct view_answer header;
	struct viewer_result result;
	size_t n_read; /* bytes, of the header and then of the body */
	struct viewer *prev, *next;
};

/* --- processes -------------------------------------------------------------------------------- */

static void viewers_start_next(struct viewers *v);

static void viewer_process_free(struct viewer_process *p)
{
	sd_event_source_disable_unref(p->ended);
	DL_DELETE(p->owner->dying, p);
	free(p);
}

static int viewer_process_handle_end(sd_event_source *source, int fd, uint32_t events,
				     void *userdata)
{
	struct viewer_process *p = userdata;
	struct viewers *v = p->owner;
	int status;

	(void)source, (void)fd, (void)events;
	p->ended = sd_event_source_disable_unref(p->ended); /* before its fd is closed */
	(void)!child_reap(&p->child, KILLED_MS, &status);
	v->n_running--;
	viewer_process_free(p);
	viewers_start_next(v);
	return 0;
}

/* Its place is free when it is gone. */
static void viewer_process_end(struct viewer_process *p)
{
	struct viewers *v = p->owner;

	kill(p->child.pid, SIGKILL);
	DL_APPEND(v->dying, p);
	if (p->child.pidfd < 0 || sd_event_add_io(v->options.loop, &p->ended, p->child.pidfd,
						  EPOLLIN, viewer_process_handle_end, p) < 0)
		viewer_process_handle_end(NULL, -1, 0, p);
}

static int viewer_process_start(struct viewers *v, struct viewer_process **ret, int *ret_socket)
{
	static char name[] = "profd-gateway", option[] = "--view";
	static const char *const kept[] = {"TZ=", "ASAN_OPTIONS=", "UBSAN_OPTIONS="};
	static const int type = SOCK_STREAM;
	char *const argv[] = {name, option, NULL};
	cleanup(freep) char **environment = NULL;
	cleanup(freep) struct viewer_process *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->owner = v;
	r = child_environment(&environment, kept, ARRAY_SIZE(kept), NULL)
		    ?: child_start(&p->child,
				   &(struct child_program){.path = v->program,
							   .argv = argv,
							   .environment = environment,
							   .sockets = &type,
							   .n_sockets = 1},
				   ret_socket);
	if (r)
		return r;
	v->n_running++;
	*ret = steal_ptr(&p);
	return 0;
}

/* --- one question ----------------------------------------------------------------------------- */

/* Nothing of it goes on; it may be started no more. */
static void viewer_stop(struct viewer *v)
{
	v->io = sd_event_source_disable_unref(v->io);
	v->deadline = sd_event_source_disable_unref(v->deadline);
	closep(&v->socket);
	v->socket = -1;
	if (v->process)
		viewer_process_end(steal_ptr(&v->process));
	for (size_t i = 0; i < VIEW_FILES_MAX; i++) {
		closep(&v->files[i]);
		v->files[i] = -1;
	}
}

static void viewer_end(struct viewer *v)
{
	struct viewer_result result = v->result;

	v->result.body = NULL;
	viewer_stop(v);
	v->done(v->userdata, &result);
	free(result.body);
}

static void viewer_fail(struct viewer *v, unsigned status, const char *why)
{
	free(v->result.body);
	v->result = (struct viewer_result){.status = status, .body = strdup(why)};
	v->result.length = v->result.body ? strlen(why) : 0;
	viewer_end(v);
}

static bool viewer_take_header(struct viewer *v)
{
	uint64_t max = v->header.status == 200 ? view_answer_max(v->message.task) : VIEW_REASON_MAX;

	if (v->header.magic != VIEW_MAGIC || v->header.length > max)
		return false;
	v->result.status = v->header.status;
	v->result.length = (size_t)v->header.length;
	v->result.body = malloc(v->result.length + 1);
	return v->result.body;
}

static int viewer_handle_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	const size_t head = sizeof(struct view_answer);
	struct viewer *v = userdata;
	ssize_t n;

	(void)source, (void)events;
	if (v->n_read < head)
		n = recv(fd, (char *)&v->header + v->n_read, head - v->n_read, MSG_DONTWAIT);
	else
		n = recv(fd, v->result.body + v->n_read - head, v->result.length + head - v->n_read,
			 MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		viewer_fail(v, 503, "this profile cannot be viewed");
		return 0;
	}
	v->n_read += (size_t)n;
	if (v->n_read == head && !viewer_take_header(v)) {
		viewer_fail(v, 503, "the viewer sent a malformed answer");
		return 0;
	}
	if (v->n_read >= head && v->n_read - head == v->result.length) {
		v->result.body[v->result.length] = '\0';
		viewer_end(v);
	}
	return 0;
}

static int viewer_handle_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	viewer_fail(userdata, 504, "viewing this profile takes too long");
	return 0;
}

/* The failure is reported from the loop, as all others are. */
static int viewer_handle_start_failure(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct viewers *owner = ((struct viewer *)userdata)->owner;

	(void)source, (void)usec;
	viewer_fail(userdata, 503, "no viewer can be started");
	viewers_start_next(owner);
	return 0;
}

static void viewer_start(struct viewer *v)
{
	const struct viewers_options *o = &v->owner->options;
	int r = viewer_process_start(v->owner, &v->process, &v->socket);

	/* One that has died already is found out when its answer is read. */
	if (!r)
		r = fd_packet_send(v->socket, &v->message, sizeof(v->message), v->files,
				   v->message.n_files, MSG_DONTWAIT);
	if (r >= 0 && sd_event_add_io(o->loop, &v->io, v->socket, EPOLLIN, viewer_handle_io, v) < 0)
		r = -ENOMEM;
	/* Without memory even for that, its client's patience ends it. */
	(void)sd_event_add_time_relative(
		o->loop, &v->deadline, CLOCK_MONOTONIC, r < 0 ? 0 : o->timeout_ms * 1000,
		ACCURACY_US, r < 0 ? viewer_handle_start_failure : viewer_handle_deadline, v);
}

/* --- the queue -------------------------------------------------------------------------------- */

static void viewers_dequeue(struct viewers *owner, struct viewer *v)
{
	v->is_waiting = false;
	DL_DELETE(owner->waiting, v);
	owner->n_waiting--;
}

static void viewers_start_next(struct viewers *v)
{
	struct viewer *next;

	while (v->n_running < v->options.max && v->waiting) {
		next = v->waiting;
		viewers_dequeue(v, next);
		viewer_start(next);
		if (!next->process)
			return;
	}
}

int viewers_new(struct viewers **ret, const struct viewers_options *options)
{
	cleanup(viewers_freep) struct viewers *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return error_origin(-ENOMEM);
	v->options = *options;
	v->options.loop = sd_event_ref(options->loop);
	if (!v->options.max)
		v->options.max = VIEWERS_MAX;
	if (!v->options.timeout_ms)
		v->options.timeout_ms = TIMEOUT_MS;
	r = text_copy(&v->program, options->program ? options->program : "/proc/self/exe");
	if (r)
		return r;
	*ret = steal_ptr(&v);
	return 0;
}

void viewers_free(struct viewers *v)
{
	int status;

	if (!v)
		return;
	while (v->dying) {
		struct viewer_process *p = v->dying;

		p->ended = sd_event_source_disable_unref(p->ended);
		(void)!child_reap(&p->child, KILLED_MS, &status);
		viewer_process_free(p);
	}
	sd_event_unref(v->options.loop);
	free(v->program);
	free(v);
}

int viewer_new(struct viewer **ret, struct viewers *viewers, const struct viewer_request *request)
{
	cleanup(viewer_freep) struct viewer *v = NULL;

	if (viewers->n_running >= viewers->options.max && viewers->n_waiting >= VIEWERS_WAITING_MAX)
		return VIEWER_E_BUSY;
	v = calloc(1, sizeof(*v));
	if (!v)
		return error_origin(-ENOMEM);
	v->owner = viewers;
	v->socket = -1;
	for (size_t i = 0; i < VIEW_FILES_MAX; i++)
		v->files[i] = -1;
	v->message = *request->message;
	v->message.magic = VIEW_MAGIC;
	v->message.n_files = (uint32_t)request->n_files;
	v->done = request->done;
	v->userdata = request->userdata;
	for (size_t i = 0; i < request->n_files; i++) {
		v->files[i] = fcntl(request->files[i], F_DUPFD_CLOEXEC, 0);
		if (v->files[i] < 0)
			return error_origin(-errno);
	}
	v->is_waiting = true;
	DL_APPEND(viewers->waiting, v);
	viewers->n_waiting++;
	viewers_start_next(viewers);
	*ret = steal_ptr(&v);
	return VIEWER_E_OK;
}

void viewer_free(struct viewer *v)
{
	if (!v)
		return;
	if (v->is_waiting)
		viewers_dequeue(v->owner, v);
	viewer_stop(v);
	free(v->result.body);
	free(v);
}
