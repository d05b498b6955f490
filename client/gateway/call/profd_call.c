/* SPDX-License-Identifier: MIT */
/*
 * A request fits into the socket's buffer, so it is sent at once. What comes is gathered up to the
 * end of a packet: the response, then those of the file. Whatever ends a call is reported from
 * the loop, also that there is no profd.
 */
#include "client/gateway/call/profd_call.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "client/gateway/call/parent_connect.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/helper/memory_file.h"
#include "common/packet.h"
#include "common/unixsock.h"

#define READ_MAX  ((size_t)256 << 10) /* bytes at a time */
#define AWAY      "no profd answers"
#define MALFORMED "profd sent a malformed reply; are the versions the same?"

struct profd_call {
	sd_event_source *io, *timer;
	int fd;
	struct profd_call_options options; /* but for the message */
	uint8_t *data;                     /* of a packet that is not complete yet */
	size_t length, max;
	Profd__Control__Response *response;
	uint8_t *file; /* or */
	int memory_fd; /* -1: none */
	size_t file_length, file_size;
	struct profd_answer ending; /* of a call that ended as soon as it began */
};

unsigned profd_answer_status(const struct profd_answer *answer)
{
	if (answer->outcome != PROFD_CALL_REFUSED)
		return 503;
	if (answer->code == PROFD__CONTROL__ERROR_CODE__USAGE)
		return 400;
	return answer->code == PROFD__CONTROL__ERROR_CODE__NOT_FOUND ? 404 : 503;
}

static void profd_call_end(struct profd_call *c, struct profd_answer answer)
{
	c->io = sd_event_source_disable_unref(c->io);
	c->timer = sd_event_source_disable_unref(c->timer);
	c->options.done(c->options.userdata, &answer);
}

static void profd_call_fail(struct profd_call *c, enum profd_call_outcome outcome,
			    const char *message)
{
	profd_call_end(
		c, (struct profd_answer){.outcome = outcome, .message = message, .memory_fd = -1});
}

static void profd_call_succeed(struct profd_call *c)
{
	if (c->memory_fd >= 0 && fcntl(c->memory_fd, F_ADD_SEALS, MEMORY_FILE_SEALS) < 0) {
		profd_call_fail(c, PROFD_CALL_FAILED, "out of memory");
		return;
	}
	profd_call_end(c, (struct profd_answer){.response = c->response,
						.file = c->file,
						.file_length = c->file_length,
						.memory_fd = c->memory_fd});
}

/* For @size bytes. */
static bool profd_call_make_file(struct profd_call *c, uint64_t size)
{
	if (size > c->options.max_file)
		return false;
	c->file_size = (size_t)size;
	if (c->options.wants_memory) {
		c->memory_fd = memory_file_new("profd-profile");
		return c->memory_fd >= 0;
	}
	c->file = malloc(c->file_size);
	return c->file;
}

static uint64_t response_file_size(const Profd__Control__Response *response)
{
	if (response->result_case == PROFD__CONTROL__RESPONSE__RESULT_COLLECTED)
		return response->collected->bytes;
	return response->result_case == PROFD__CONTROL__RESPONSE__RESULT_PATHS
		       ? response->paths->bytes
		       : 0;
}

/* Returns whether the call goes on. */
static bool profd_call_take_response(struct profd_call *c, const struct packet *packet)
{
	uint64_t size;

	c->response = profd__control__response__unpack(NULL, packet->size, packet->payload);
	if (c->response && c->response->result_case == PROFD__CONTROL__RESPONSE__RESULT_ERROR) {
		profd_call_end(c, (struct profd_answer){.outcome = PROFD_CALL_REFUSED,
							.code = c->response->error->code,
							.message = c->response->error->message,
							.memory_fd = -1});
		return false;
	}
	if (!c->response || c->response->result_case != c->options.result) {
		profd_call_fail(c, PROFD_CALL_FAILED, MALFORMED);
		return false;
	}
	size = response_file_size(c->response);
	if (!size) {
		profd_call_succeed(c);
		return false;
	}
	if (!profd_call_make_file(c, size)) {
		profd_call_fail(c, PROFD_CALL_FAILED, "the answer is too large");
		return false;
	}
	return true;
}

static bool profd_call_take_piece(struct profd_call *c, const struct packet *packet)
{
	if (!packet->size || packet->size > c->file_size - c->file_length) {
		profd_call_fail(c, PROFD_CALL_FAILED, MALFORMED);
		return false;
	}
	if (c->file)
		memcpy(c->file + c->file_length, packet->payload, packet->size);
	else if (memory_file_write(c->memory_fd, packet->payload, packet->size)) {
		profd_call_fail(c, PROFD_CALL_FAILED, "out of memory");
		return false;
	}
	c->file_length += packet->size;
	if (c->file_length < c->file_size)
		return true;
	profd_call_succeed(c);
	return false;
}

/* The packets that are complete. */
static void profd_call_take(struct profd_call *c)
{
	struct packet packet;
	size_t used = 0;
	int r;

	for (;;) {
		r = packet_parse(c->data + used, c->length - used, PACKET_RESPONSE_MAX, &packet);
		if (r)
			break;
		if (!(c->response ? profd_call_take_piece : profd_call_take_response)(c, &packet))
			return; /* it may be freed */
		used += PACKET_HEADER_SIZE + packet.size;
	}
	if (r == PACKET_E_TOO_LARGE) {
		profd_call_fail(c, PROFD_CALL_FAILED, MALFORMED);
		return;
	}
	memmove(c->data, c->data + used, c->length - used);
	c->length -= used;
}

static bool profd_call_make_room(struct profd_call *c)
{
	size_t max = c->max ? 2 * c->max : 2 * READ_MAX;
	uint8_t *grown;

	if (c->max - c->length >= READ_MAX)
		return true;
	grown = realloc(c->data, max);
	if (!grown)
		return false;
	c->data = grown;
	c->max = max;
	return true;
}

static int profd_call_handle_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct profd_call *c = userdata;
	ssize_t n;

	(void)source, (void)events;
	if (!profd_call_make_room(c)) {
		profd_call_fail(c, PROFD_CALL_FAILED, "out of memory");
		return 0;
	}
	n = recv(fd, c->data + c->length, READ_MAX, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		profd_call_fail(c, PROFD_CALL_AWAY, "profd closed the connection; see its log");
		return 0;
	}
	c->length += (size_t)n;
	profd_call_take(c);
	return 0;
}

static int profd_call_handle_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct profd_call *c = userdata;

	(void)source, (void)usec;
	if (c->ending.message)
		profd_call_end(c, c->ending);
	else
		profd_call_fail(c, PROFD_CALL_AWAY, "profd does not answer in time");
	return 0;
}

/* 0, or what the call ends with. */
static const char *profd_call_send(struct profd_call *c, const void *message)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	cleanup(freep) uint8_t *data = NULL;
	size_t size;
	int r = *c->options.socket ? unixsock_connect_at_once(c->options.socket, &c->fd)
				   : parent_connect(&c->fd);

	if (r)
		return r == UNIXSOCK_E_TIMEOUT ? "profd does not answer" : AWAY;
	/* The members of the union are pointers to messages, all of them: any one will do. */
	request.verb_case = c->options.verb;
	request.status = message ? (void *)(uintptr_t)message : &empty;
	size = profd__control__request__get_packed_size(&request);
	data = size <= PACKET_REQUEST_MAX ? malloc(PACKET_HEADER_SIZE + size) : NULL;
	if (!data)
		return "the request is too long";
	packet_put_header(data, size);
	profd__control__request__pack(&request, data + PACKET_HEADER_SIZE);
	size += PACKET_HEADER_SIZE;
	return send(c->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size ? NULL : AWAY;
}

int profd_call_new(struct profd_call **ret, const struct profd_call_options *options)
{
	cleanup(profd_call_freep) struct profd_call *c = calloc(1, sizeof(*c));
	uint64_t timeout_us = options->timeout_ms * 1000;
	int r = 0;

	if (!c)
		return error_origin(-ENOMEM);
	c->fd = c->memory_fd = -1;
	c->options = *options;
	c->ending.outcome = PROFD_CALL_AWAY;
	c->ending.memory_fd = -1;
	c->ending.message = profd_call_send(c, options->message);
	c->options.message = NULL;
	if (c->ending.message)
		timeout_us = 0;
	else
		r = sd_event_add_io(options->loop, &c->io, c->fd, EPOLLIN, profd_call_handle_io, c);
	if (r >= 0 && (timeout_us || c->ending.message))
		r = sd_event_add_time_relative(options->loop, &c->timer, CLOCK_MONOTONIC,
					       timeout_us, 0, profd_call_handle_timer, c);
	if (r < 0)
		return error_origin(r);
	*ret = steal_ptr(&c);
	return 0;
}

void profd_call_free(struct profd_call *c)
{
	if (!c)
		return;
	sd_event_source_disable_unref(c->io);
	sd_event_source_disable_unref(c->timer);
	closep(&c->fd);
	closep(&c->memory_fd);
	if (c->response)
		profd__control__response__free_unpacked(c->response, NULL);
	free(c->data);
	free(c->file);
	free(c);
}
