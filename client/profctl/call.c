/* SPDX-License-Identifier: MIT */
/*
 * A request is packed, sent over a connection of its own, and answered by one packet; what
 * `collect` and `stop` answer is followed by a file, in packets of its own.
 *
 * A session is started, and then held by a request of its own that stays unanswered. A window is
 * what `collect` answers that takes it; the caller prints what profd complains of then.
 */
#include "client/profctl/call.h"

#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/options.h"
#include "common/packet.h"
#include "common/profile/pprof.h"
#include "common/unixsock.h"
#include "common/utf8.h"

#define FILE_SIZE_MAX ((uint64_t)1 << 32)
/* How long a request may take: answers from memory, and those that wait for a disk. */
#define SHORT_MS     (30 * 1000)
#define LONG_MS      (600 * 1000)
#define UNPACKED_MAX ((size_t)1 << 30)

/* What is answered to each request. */
static const struct {
	Profd__Control__Response__ResultCase result;
	int timeout_ms;
} answers[] = {
	[PROFD__CONTROL__REQUEST__VERB_START] = {PROFD__CONTROL__RESPONSE__RESULT_TEXT, SHORT_MS},
	[PROFD__CONTROL__REQUEST__VERB_HOLD] = {PROFD__CONTROL__RESPONSE__RESULT_OK, SHORT_MS},
	[PROFD__CONTROL__REQUEST__VERB_STOP] = {PROFD__CONTROL__RESPONSE__RESULT_PATHS, LONG_MS},
	[PROFD__CONTROL__REQUEST__VERB_PAUSE] = {PROFD__CONTROL__RESPONSE__RESULT_OK, LONG_MS},
	[PROFD__CONTROL__REQUEST__VERB_RESUME] = {PROFD__CONTROL__RESPONSE__RESULT_OK, LONG_MS},
	[PROFD__CONTROL__REQUEST__VERB_STATUS] = {PROFD__CONTROL__RESPONSE__RESULT_STATUS,
						  SHORT_MS},
	[PROFD__CONTROL__REQUEST__VERB_FLUSH] = {PROFD__CONTROL__RESPONSE__RESULT_PATHS, LONG_MS},
	[PROFD__CONTROL__REQUEST__VERB_EPOCH] = {PROFD__CONTROL__RESPONSE__RESULT_TEXT, LONG_MS},
	[PROFD__CONTROL__REQUEST__VERB_LIST] = {PROFD__CONTROL__RESPONSE__RESULT_LISTING, LONG_MS},
	[PROFD__CONTROL__REQUEST__VERB_COLLECT] = {PROFD__CONTROL__RESPONSE__RESULT_COLLECTED,
						   LONG_MS},
	[PROFD__CONTROL__REQUEST__VERB_VACUUM] = {PROFD__CONTROL__RESPONSE__RESULT_VACUUMED,
						  LONG_MS},
	[PROFD__CONTROL__REQUEST__VERB_CONFIG] = {PROFD__CONTROL__RESPONSE__RESULT_TEXT, SHORT_MS},
};

/* --- texts ------------------------------------------------------------------------------------ */

void *const *message_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			   size_t *ret_n)
{
	const void *quantifier = (const char *)message + field->quantifier_offset;
	const char *at = (const char *)message + field->offset;

	*ret_n = 1;
	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		*ret_n = *(const uint32_t *)quantifier == field->id;
	if (field->label != PROTOBUF_C_LABEL_REPEATED)
		return (void *const *)at;
	*ret_n = *(const size_t *)quantifier;
	return *(void *const *const *)at;
}

/* A text may hold whatever a process, a file or a host was named. The configuration has lines. */
void message_make_harmless(const ProtobufCMessage *message)
{
	for (unsigned i = 0; message && i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		const char *kept = strcmp(field->name, "text") == 0 ? "\n\t" : "";
		size_t n;
		void *const *items = message_field(message, field, &n);

		for (size_t k = 0; k < n && field->type == PROTOBUF_C_TYPE_MESSAGE; k++)
			message_make_harmless(items[k]);
		for (size_t k = 0; k < n && field->type == PROTOBUF_C_TYPE_STRING; k++)
			if (*(char *)items[k]) /* a default one is not to be written to */
				utf8_make_harmless(items[k], kept);
	}
}

/* --- calls ------------------------------------------------------------------------------------ */

static int connect_to_daemon(const struct context *context, int *ret_fd)
{
	int r = unixsock_connect(context->socket, ret_fd);
	const char *hint;

	switch (r) {
	case UNIXSOCK_E_OK:
		return STATUS_DONE;
	case UNIXSOCK_E_NOBODY:
		hint = context->user ? "; start one: systemctl --user start profd"
		       : strcmp(context->socket, SYSTEM_SOCKET)
			       ? ", which --socket or PROFD_SOCKET names"
			       : "; start one: systemctl start profd";
		return profctl_complain(context, STATUS_NO_DAEMON, "no profd answers at %s%s",
					context->socket, hint);
	case UNIXSOCK_E_DENIED:
		return profctl_complain(
			context, STATUS_DENIED,
			"you may not connect to %s; see socket_mode in profd.conf, or ask to "
			"be a member of group profd",
			context->socket);
	case UNIXSOCK_E_BAD_PATH:
		return profctl_complain(context, STATUS_USAGE,
					"'%s' is not a valid socket path: 1 to 107 bytes",
					context->socket);
	}
	return profctl_complain(context, STATUS_FAILED, "cannot connect to %s: %s", context->socket,
				error_describe(r));
}

static int complain_exchange(const struct context *context, int r)
{
	if (r == UNIXSOCK_E_TIMEOUT || r == UNIXSOCK_E_CLOSED)
		return profctl_complain(context, STATUS_NO_DAEMON, "profd at %s %s; see its log",
					context->socket,
					r == UNIXSOCK_E_CLOSED ? "closed the connection"
							       : "does not answer in time");
	if (r == UNIXSOCK_E_TOO_LARGE)
		return profctl_complain(context, STATUS_FAILED,
					"protocol error: the server at %s is not profd",
					context->socket);
	return profctl_complain(context, STATUS_FAILED, "talking to profd: %s", error_describe(r));
}

/*
 * Sends a request whose answer is to come much later, or never: *ret_fd, the caller's, becomes
 * readable with it, or when profd has gone. Returns STATUS_DONE, or as call_daemon().
 */
static int call_send(const struct context *context, Profd__Control__Request__VerbCase verb,
		     const void *message, int *ret_fd)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	cleanup(freep) uint8_t *data = NULL;
	cleanup(closep) int fd = -1;
	size_t size;
	int r;

	/* The members of the union are pointers to messages, all of them: one stands for all. */
	request.verb_case = verb;
	request.status = message ? (void *)message : &empty;
	size = profd__control__request__get_packed_size(&request);
	if (size > PACKET_REQUEST_MAX)
		return profctl_complain(context, STATUS_USAGE, "the request is too long");
	data = malloc(size + 1);
	if (!data)
		return profctl_complain(context, STATUS_FAILED, "no memory");
	profd__control__request__pack(&request, data);
	r = connect_to_daemon(context, &fd);
	if (r)
		return r;
	r = unixsock_send(fd, data, size, SHORT_MS);
	/* Where profd has closed it without reading, it may have said why. */
	if (r && r != UNIXSOCK_E_CLOSED)
		return complain_exchange(context, r);
	*ret_fd = steal_fd(&fd);
	return STATUS_DONE;
}

/* *ret_fd is the connection, on which more may come. */
static int call_begin(const struct context *context, Profd__Control__Request__VerbCase verb,
		      const void *message, int timeout_ms, Profd__Control__Response **ret,
		      int *ret_fd)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(freep) uint8_t *answer = NULL;
	cleanup(closep) int fd = -1;
	size_t size;
	int r = call_send(context, verb, message, &fd);

	if (r)
		return r;
	r = unixsock_receive(fd, PACKET_RESPONSE_MAX, timeout_ms, &answer, &size);
	if (r)
		return complain_exchange(context, r);
	response = profd__control__response__unpack(NULL, size, answer);
	if (response && response->result_case == PROFD__CONTROL__RESPONSE__RESULT_ERROR)
		/* The codes are exit statuses; one of a newer profd is a failure like any other. */
		return profctl_complain(
			context,
			response->error->code == PROFD__CONTROL__ERROR_CODE__USAGE ||
					response->error->code == PROFD__CONTROL__ERROR_CODE__DENIED
				? (int)response->error->code
				: STATUS_FAILED,
			"%s", response->error->message);
	if (!response || response->result_case != answers[verb].result)
		return profctl_complain(context, STATUS_FAILED,
					"profctl " PROFD_VERSION
					" received a malformed reply from profd "
					"at %s; are the versions the same?",
					context->socket);
	*ret = steal_ptr(&response);
	*ret_fd = steal_fd(&fd);
	return STATUS_DONE;
}

int call_daemon_exact(const struct context *context, Profd__Control__Request__VerbCase verb,
		      const void *message, Profd__Control__Response **ret)
{
	cleanup(closep) int fd = -1;

	return call_begin(context, verb, message, answers[verb].timeout_ms, ret, &fd);
}

int call_daemon(const struct context *context, Profd__Control__Request__VerbCase verb,
		const void *message, Profd__Control__Response **ret)
{
	int r = call_daemon_exact(context, verb, message, ret);

	if (!r)
		message_make_harmless(&(*ret)->base);
	return r;
}

/* The file behind a response, @size bytes in pieces. *ret: malloc'ed. As call_daemon(). */
static int receive_file(const struct context *context, int fd, uint64_t size, int timeout_ms,
			uint8_t **ret)
{
	cleanup(freep) uint8_t *data = size <= FILE_SIZE_MAX ? malloc((size_t)size + 1) : NULL;
	int r = 0;

	if (!data)
		return profctl_complain(context, STATUS_FAILED,
					"out of memory: the answer has %" PRIu64 " bytes", size);
	for (uint64_t at = 0; at < size && !r;) {
		cleanup(freep) uint8_t *piece = NULL;
		size_t n;

		r = unixsock_receive(fd, PACKET_RESPONSE_MAX, timeout_ms, &piece, &n);
		if (!r && (!n || n > size - at))
			r = UNIXSOCK_E_TOO_LARGE;
		if (r)
			break;
		memcpy(data + at, piece, n);
		at += n;
	}
	if (r)
		return complain_exchange(context, r);
	*ret = steal_ptr(&data);
	return STATUS_DONE;
}

static int call_for_file(const struct context *context, Profd__Control__Request__VerbCase verb,
			 const void *message, int timeout_ms, Profd__Control__Response **ret,
			 uint8_t **ret_data)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(closep) int fd = -1;
	int r = call_begin(context, verb, message, timeout_ms, &response, &fd)
			?: receive_file(context, fd,
					response->result_case ==
							PROFD__CONTROL__RESPONSE__RESULT_PATHS
						? response->paths->bytes
						: response->collected->bytes,
					timeout_ms, ret_data);

	if (!r)
		*ret = steal_ptr(&response);
	return r;
}

int call_collect(const struct context *context, const Profd__Control__Collect *collect,
		 Profd__Control__Response **ret, uint8_t **ret_data)
{
	return call_for_file(context, PROFD__CONTROL__REQUEST__VERB_COLLECT, collect,
			     collect->take ? SHORT_MS : LONG_MS, ret, ret_data);
}

int call_paths(const struct context *context, Profd__Control__Request__VerbCase verb,
	       const void *message, Profd__Control__Response **ret, uint8_t **ret_data)
{
	return call_for_file(context, verb, message, LONG_MS, ret, ret_data);
}

/* --- held sessions ---------------------------------------------------------------------------- */

int held_start(const struct context *context, Profd__Control__Start *start, struct held *ret)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Hold hold = PROFD__CONTROL__HOLD__INIT;
	struct usage_message message;
	int fd, r;

	start->held = true;
	r = call_daemon(context, PROFD__CONTROL__REQUEST__VERB_START, start, &response);
	if (r)
		return r;
	if (option_session("", response->text, &hold.id, &message))
		return profctl_complain(context, STATUS_FAILED, "%s", message.text);
	r = call_send(context, PROFD__CONTROL__REQUEST__VERB_HOLD, &hold, &fd);
	if (r)
		return r;
	*ret = (struct held){hold.id, fd};
	return STATUS_DONE;
}

void held_stop(const struct context *context, const struct held *held)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Stop stop = PROFD__CONTROL__STOP__INIT;
	struct context quiet = *context;
	char complaint[COMPLAINT_SIZE];

	quiet.kept = complaint;
	stop.which_case = PROFD__CONTROL__STOP__WHICH_ID;
	stop.id = held->id;
	call_daemon(&quiet, PROFD__CONTROL__REQUEST__VERB_STOP, &stop, &response);
}

bool held_has_ended(const struct held *held)
{
	cleanup(freep) uint8_t *answer = NULL;
	size_t size;

	return !unixsock_receive(held->fd, PACKET_RESPONSE_MAX, SHORT_MS, &answer, &size);
}

void held_deinit(struct held *held)
{
	closep(&held->fd);
	held->fd = -1;
}

int take_window(const struct context *context, uint64_t session, struct taken *ret)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	cleanup(freep) uint8_t *data = NULL;
	struct context quiet = *context;
	struct profile_message message;
	int r;

	*ret = (struct taken){0};
	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION;
	collect.session = session;
	collect.take = true;
	quiet.kept = ret->trouble;
	r = call_collect(&quiet, &collect, &response, &data);
	if (r)
		return r == STATUS_NO_DAEMON ? TAKE_E_GONE : TAKE_E_LATER;
	ret->lost = response->collected->dropped + response->collected->lost;
	ret->more = response->collected->more;
	ret->over = response->collected->over;
	if (!response->collected->bytes)
		return TAKE_E_OK;
	r = pprof_read(data, (size_t)response->collected->bytes, UNPACKED_MAX, &ret->profile,
		       &message);
	if (r > 0)
		profctl_complain(&quiet, STATUS_FAILED, "profd sent an invalid profile: %s",
				 message.text);
	else if (r)
		profctl_complain(&quiet, STATUS_FAILED, "%s", error_describe(r));
	return r ? TAKE_E_BAD : TAKE_E_OK;
}
