/* SPDX-License-Identifier: MIT */
#include "client/profctl/call.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "client/profctl/json.h"
#include "client/profctl/progress.h"
#include "client/profctl/table.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/packet.h"
#include "common/units.h"
#include "common/unixsock.h"

#define FILE_SIZE_MAX ((uint64_t)1 << 32)
#define PIECE_MS      200 /* of waiting */

static int connect_to_daemon(const struct context *context, int *ret_fd)
{
	int r = unixsock_connect(context->socket, ret_fd);

	switch (r) {
	case UNIXSOCK_E_OK:
		return STATUS_DONE;
	case UNIXSOCK_E_NOBODY:
		if (!context->user && strcmp(context->socket, SYSTEM_SOCKET) != 0)
			return complain(context, STATUS_NO_DAEMON,
					"no profd answers at %s, which --socket or PROFD_SOCKET "
					"names",
					context->socket);
		return complain(context, STATUS_NO_DAEMON,
				"no profd answers at %s; start one: systemctl %sstart profd",
				context->socket, context->user ? "--user " : "");
	case UNIXSOCK_E_DENIED:
		return complain(context, STATUS_DENIED,
				"%s is not open to you; see socket_mode in profd.conf, or ask to "
				"be a member of group profd",
				context->socket);
	case UNIXSOCK_E_BAD_PATH:
		return complain(context, STATUS_USAGE,
				"'%s' cannot be a socket's path: 1 to 107 bytes", context->socket);
	}
	return complain(context, STATUS_FAILED, "cannot connect to %s: %s", context->socket,
			error_describe(r));
}

/* Until there is something to be received, or too late. Returns how long that may take. */
static int wait_for_answer(int fd, int timeout_ms, struct progress *progress)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};

	for (int waited_ms = 0; progress->out && waited_ms < timeout_ms; waited_ms += PIECE_MS) {
		char text[128], span[UNITS_TEXT_MAX];

		if (poll(&pollfd, 1, PIECE_MS) != 0)
			return timeout_ms;
		units_print_span(span, sizeof(span), waited_ms / 1000.);
		snprintf(text, sizeof(text), "profd works on it, since %s", span);
		progress_tell(progress, PROGRESS_UNKNOWN, text);
	}
	return progress->out ? 1 : timeout_ms;
}

static int exchange(int fd, const uint8_t *data, size_t size, int timeout_ms,
		    struct progress *progress, uint8_t **ret, size_t *ret_size)
{
	int r = unixsock_send(fd, data, size, timeout_ms);

	/* A daemon that closed without reading may have said why. */
	if (r && r != UNIXSOCK_E_CLOSED)
		return r;
	timeout_ms = wait_for_answer(fd, timeout_ms, progress);
	return unixsock_receive(fd, PACKET_RESPONSE_MAX, timeout_ms, ret, ret_size);
}

static int complain_exchange(const struct context *context, int r)
{
	if (r == UNIXSOCK_E_TIMEOUT)
		return complain(context, STATUS_NO_DAEMON,
				"profd at %s does not answer in time; see its log",
				context->socket);
	if (r == UNIXSOCK_E_CLOSED)
		return complain(context, STATUS_NO_DAEMON,
				"profd at %s closed the connection; see its log", context->socket);
	if (r == UNIXSOCK_E_TOO_LARGE)
		return complain(context, STATUS_FAILED,
				"what listens at %s does not speak profd's protocol",
				context->socket);
	return complain(context, STATUS_FAILED, "talking to profd: %s", error_describe(r));
}

static int complain_error(const struct context *context, const Profd__Control__Error *error)
{
	switch (error->code) {
	case PROFD__CONTROL__ERROR_CODE__USAGE:
		return complain(context, STATUS_USAGE, "%s", error->message);
	case PROFD__CONTROL__ERROR_CODE__DENIED:
		return complain(context, STATUS_DENIED, "%s", error->message);
	default:
		return complain(context, STATUS_FAILED, "%s", error->message);
	}
}

/* *ret_fd is the connection, on which more may come. */
static int begin_call(const struct context *context, const Profd__Control__Request *request,
		      int timeout_ms, Profd__Control__Response__ResultCase expected,
		      Profd__Control__Response **ret, int *ret_fd)
{
	struct progress progress;
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	size_t size = profd__control__request__get_packed_size(request), answer_size;
	cleanup(freep) uint8_t *data = malloc(size + 1), *answer = NULL;
	cleanup(closep) int fd = -1;
	int r;

	progress_init(&progress, context);
	if (!data)
		return complain(context, STATUS_FAILED, "no memory");
	if (size > PACKET_REQUEST_MAX)
		return complain(context, STATUS_USAGE, "that is too long for a request");
	profd__control__request__pack(request, data);
	r = connect_to_daemon(context, &fd);
	if (r)
		return r;
	r = exchange(fd, data, size, timeout_ms, &progress, &answer, &answer_size);
	progress_clear(&progress);
	if (r)
		return complain_exchange(context, r);
	response = profd__control__response__unpack(NULL, answer_size, answer);
	if (response && response->result_case == PROFD__CONTROL__RESPONSE__RESULT_ERROR)
		return complain_error(context, response->error);
	if (!response || response->result_case != expected)
		return complain(context, STATUS_FAILED,
				"profctl " PROFD_VERSION " does not understand what profd at %s "
				"answers; are they of one version?",
				context->socket);
	*ret = steal_ptr(&response);
	*ret_fd = steal_fd(&fd);
	return STATUS_DONE;
}

int call(const struct context *context, const Profd__Control__Request *request, int timeout_ms,
	 Profd__Control__Response__ResultCase expected, Profd__Control__Response **ret)
{
	cleanup(closep) int fd = -1;

	return begin_call(context, request, timeout_ms, expected, ret, &fd);
}

int call_file(const struct context *context, const Profd__Control__Request *request, int timeout_ms,
	      Profd__Control__Response **ret, uint8_t **ret_data)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(freep) uint8_t *data = NULL;
	cleanup(closep) int fd = -1;
	struct progress progress;
	uint64_t size;
	int r;

	r = begin_call(context, request, timeout_ms, PROFD__CONTROL__RESPONSE__RESULT_COLLECTED,
		       &response, &fd);
	if (r)
		return r;
	size = response->collected->bytes;
	if (size <= FILE_SIZE_MAX)
		data = malloc((size_t)size + 1);
	if (!data)
		return complain(context, STATUS_FAILED,
				"no memory for a profile of %" PRIu64 " bytes", size);
	progress_init(&progress, context);
	for (uint64_t at = 0; at < size;) {
		cleanup(freep) uint8_t *piece = NULL;
		size_t length;

		progress_tell(&progress, (double)at / (double)size, "of what profd collected");
		r = unixsock_receive(fd, PACKET_RESPONSE_MAX, timeout_ms, &piece, &length);
		if (!r && (!length || length > size - at))
			r = UNIXSOCK_E_TOO_LARGE;
		if (r) {
			progress_clear(&progress);
			return complain_exchange(context, r);
		}
		memcpy(data + at, piece, length);
		at += length;
	}
	progress_clear(&progress);
	*ret = steal_ptr(&response);
	*ret_data = steal_ptr(&data);
	return STATUS_DONE;
}

int call_send(const struct context *context, const Profd__Control__Request *request, int *ret_fd)
{
	size_t size = profd__control__request__get_packed_size(request);
	cleanup(freep) uint8_t *data = malloc(size + 1);
	cleanup(closep) int fd = -1;
	int r;

	if (!data)
		return complain(context, STATUS_FAILED, "no memory");
	profd__control__request__pack(request, data);
	r = connect_to_daemon(context, &fd);
	if (r)
		return r;
	r = unixsock_send(fd, data, size, CALL_SHORT_MS);
	if (r)
		return complain_exchange(context, r);
	*ret_fd = steal_fd(&fd);
	return STATUS_DONE;
}

int call_verb(const struct context *context, Profd__Control__Request__VerbCase verb, int timeout_ms,
	      Profd__Control__Response__ResultCase expected, Profd__Control__Response **ret)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;

	/* The verbs without arguments share the union's type, so one member stands for all. */
	request.verb_case = verb;
	request.status = &empty;
	return call(context, &request, timeout_ms, expected, ret);
}

void print_paths(const struct context *context, const Profd__Control__Paths *paths, bool json,
		 const char *none)
{
	struct json j = {.out = context->out};

	if (!json) {
		for (size_t i = 0; i < paths->n_paths; i++)
			fprintf(context->out, "%s\n", paths->paths[i]);
		if (!paths->n_paths)
			complain(context, STATUS_DONE, "%s", none);
		return;
	}
	json_begin_object(&j, NULL);
	json_begin_array(&j, "files");
	for (size_t i = 0; i < paths->n_paths; i++)
		json_text(&j, NULL, paths->paths[i]);
	json_end_array(&j);
	json_end_object(&j);
	json_end(&j);
}
