/* SPDX-License-Identifier: MIT */
/*
 * A connection is in one of four states, and what it waits for follows from it:
 *
 *   waiting   its uid's turn           nothing (a hang-up always comes), the timer ends it
 *   reading   no request in hand       EPOLLIN, the timer runs since the state began
 *   working   `reply` is out           nothing, no timer
 *   writing   `out` is not yet sent    EPOLLOUT, the timer starts again with each TAKEN_MIN
 *
 * Exactly one packet is read at a time: first its header, then as much as it promises. What the
 * client sends ahead stays in the kernel's buffer, which is bounded.
 *
 * It waits while the bucket of its uid is empty, and for a tenth of a second before a request that
 * cannot be served yet is looked at again. All that a client has us do is drawn from the bucket,
 * also a look at a socket that had less than a request.
 *
 * A request is the one field that is set in Request; the row of the verbs' table that has that
 * field's name has the handler.
 *
 * An answer is a message of common/control.proto, packed behind the header of its packet. struct
 * reply is the way to the client for as long as that is there; answering frees it.
 *
 * Only the two event handlers end a connection, so code that answers a reply, perhaps from
 * within a handler, need not care whether it still exists afterwards.
 */
#include "daemon/control/connection.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/packet.h"
#include "common/shim/attach.h"
#include "daemon/control/buckets.h"
#include "daemon/output/collect.h"
#include "daemon/output/symbols.h"

#define PIECE_SIZE      ((size_t)64 << 10) /* of a file */
#define PIECES_PER_TURN 8
#define TEXT_SIZE       1024 /* of an error */
/* Bytes of an answer, which others may have to wait for, that a client is to take in its time. */
#define TAKEN_MIN ((size_t)1 << 20)
#define BUSY_NS   (NS_PER_S / 10)
#define TIMER_US  10000 /* it may be late by so much */
/* What it costs to look at a socket, and to find that a request is none of ours. */
#define TURN_US    20
#define UNKNOWN_US 1000
/* Files that wait to be read, which are memory; one that is larger has to be the only one. */
#define ATTACHED_MAX (UINT64_C(32) << 20)

struct connection {
	struct connection_owner *owner;
	struct peer peer;
	int fd;
	sd_event_source *io, *timer;
	struct reply *reply; /* of the request in hand; owned by the operation that answers it */
	bool closing;        /* nothing more is read; ends when `out` is sent */
	uint64_t wait_ns;    /* how long it is to wait; 0: not at all */
	uint8_t header[PACKET_HEADER_SIZE];
	uint8_t *in; /* header and payload, once the header is known */
	size_t in_size;
	uint8_t *out;
	size_t out_size, out_sent;
	size_t taken; /* bytes, since the timer was started */
	int file;     /* what of it is left goes behind `out`, piece by piece; or -1 */
	uint64_t file_at, file_size;
};

enum {
	STEP_E_OK,
	STEP_E_WAIT,    /* the socket would block */
	STEP_E_END,     /* the client has gone, or must go */
	STEP_E_GARBAGE, /* the client does not speak our protocol */
};

static void connection_drop_output(struct connection *c)
{
	c->owner->queued[c->peer.privileged] -= c->out_size;
	free(c->out);
	c->out = NULL;
	c->out_size = c->out_sent = 0;
}

static void connection_drop_file(struct connection *c)
{
	if (c->file < 0)
		return;
	closep(&c->file);
	c->file = -1;
	c->owner->attached[c->peer.privileged] -= c->file_size;
}

void connection_free(struct connection *c)
{
	if (!c)
		return;
	if (c->reply)
		c->reply->connection = NULL;
	connection_drop_output(c);
	sd_event_source_disable_unref(c->io);
	sd_event_source_disable_unref(c->timer);
	closep(&c->fd);
	connection_drop_file(c);
	free(c->in);
	free(c);
}

static void connection_end(struct connection *c)
{
	struct connection_owner *owner = c->owner;

	for (unsigned i = 0; i < owner->n_connections; i++)
		if (owner->connections[i] == c)
			owner->connections[i] = owner->connections[--owner->n_connections];
	connection_free(c);
}

const struct peer *connection_get_peer(const struct connection *c)
{
	return &c->peer;
}

static int connection_set_timer(struct connection *c, uint64_t ns)
{
	int r = sd_event_source_set_time_relative(c->timer, ns / 1000);

	return r < 0 ? r : sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
}

/* (Re)starts the time that the client has to go on. If that fails, it may only stay for longer. */
static void connection_restart_timer(struct connection *c)
{
	c->taken = 0;
	if (connection_set_timer(c, c->owner->stall_ns) < 0)
		c->owner->stats.failed++;
}

/* The connection is to end, by no fault of the client's. */
static int connection_fail(struct connection *c)
{
	c->owner->stats.failed++;
	return STEP_E_END;
}

/* The file's next piece becomes the output. */
static int connection_next_piece(struct connection *c)
{
	uint64_t left = c->file_size - c->file_at;
	size_t size = left < PIECE_SIZE ? (size_t)left : PIECE_SIZE;
	uint8_t *data = malloc(PACKET_HEADER_SIZE + size);
	ssize_t n;

	if (!data)
		return connection_fail(c);
	n = pread(c->file, data + PACKET_HEADER_SIZE, size, (off_t)c->file_at);
	if (n != (ssize_t)size) {
		free(data);
		return connection_fail(c);
	}
	packet_put_header(data, size);
	c->file_at += size;
	if (c->file_at == c->file_size)
		connection_drop_file(c);
	c->out = data;
	c->out_size = PACKET_HEADER_SIZE + size;
	c->owner->queued[c->peer.privileged] += c->out_size;
	return STEP_E_OK;
}

static int connection_write_out(struct connection *c)
{
	while (c->out_sent < c->out_size) {
		ssize_t n = send(c->fd, c->out + c->out_sent, c->out_size - c->out_sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return STEP_E_WAIT;
		if (n < 0)
			return STEP_E_END;
		c->out_sent += (size_t)n;
		c->taken += (size_t)n;
		if (c->taken >= TAKEN_MIN)
			connection_restart_timer(c);
	}
	connection_drop_output(c);
	return STEP_E_OK;
}

/* All of the answer, unless that would take long: then the socket is asked again. */
static int connection_write_some(struct connection *c)
{
	for (int n = 0; n < PIECES_PER_TURN; n++) {
		int r = connection_write_out(c);

		if (r || c->file < 0)
			return r;
		r = connection_next_piece(c);
		if (r)
			return r;
	}
	return STEP_E_WAIT;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Packs behind room for the header. NULL: no memory. */
static uint8_t *reply_pack(const Profd__Control__Response *response, size_t *ret_size)
{
	size_t size = profd__control__response__get_packed_size(response);
	uint8_t *data = malloc(PACKET_HEADER_SIZE + size);

	if (!data)
		return NULL;
	packet_put_header(data, size);
	profd__control__response__pack(response, data + PACKET_HEADER_SIZE);
	*ret_size = PACKET_HEADER_SIZE + size;
	return data;
}

/* The members of the union are pointers, all of them: one stands for all. */
static Profd__Control__Response reply_response(Profd__Control__Response__ResultCase which,
					       const void *result)
{
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;

	response.result_case = which;
	response.ok = (void *)result;
	return response;
}

uint8_t *reply_pack_error(enum control_error code, const char *text, size_t *ret_size)
{
	Profd__Control__Error error = PROFD__CONTROL__ERROR__INIT;
	Profd__Control__Response response = reply_response(PROFD__CONTROL__RESPONSE__RESULT_ERROR,
							   &error);

	error.code = (Profd__Control__ErrorCode)code;
	error.message = (char *)text;
	return reply_pack(&response, ret_size);
}

/*
 * A client reads an answer of @size bytes, and a file of @n_bytes, at its own pace: those without
 * privileges leave room for the others.
 */
static bool connection_over_limit(const struct connection *c, size_t size, uint64_t n_bytes)
{
	uint64_t attached = c->owner->attached[c->peer.privileged];

	return c->owner->queued[c->peer.privileged] + size > PACKET_RESPONSE_MAX ||
	       (n_bytes && attached && attached + n_bytes > ATTACHED_MAX);
}

/*
 * Releases @reply; its client, if it is still there, gets @response, and then the first @n_bytes of
 * the file @fd (taken over; -1: none), in packets of their own. Never frees the connection.
 */
static void reply_send_file(struct reply *reply, const Profd__Control__Response *response, int fd,
			    uint64_t n_bytes)
{
	size_t size = profd__control__response__get_packed_size(response);
	struct connection *c = reply->connection;
	cleanup(closep) int file = fd;
	const char *refusal = NULL;

	free(reply);
	if (!c)
		return;
	c->reply = NULL;
	if (size > PACKET_RESPONSE_MAX)
		refusal = "the reply is too long; use a smaller range";
	else if (connection_over_limit(c, size, n_bytes))
		refusal = "too many unread replies; try again";
	c->out = refusal ? reply_pack_error(CONTROL_ERROR_FAILED, refusal, &c->out_size)
			 : reply_pack(response, &c->out_size);
	if (!c->out) {
		c->owner->stats.failed++;
		c->closing = true;
	} else if (n_bytes && !refusal) {
		c->file = steal_fd(&file);
		c->file_at = 0;
		c->file_size = n_bytes;
		c->owner->attached[c->peer.privileged] += n_bytes;
	}
	c->owner->queued[c->peer.privileged] += c->out_size;
	connection_restart_timer(c);
	/* Sent at once, because the loop may end now; whatever comes of it, the next turn sees. */
	if (c->out)
		connection_write_some(c);
	if (sd_event_source_set_io_events(c->io, EPOLLOUT) < 0)
		shutdown(c->fd, SHUT_RDWR);
}

void reply_send(struct reply *reply, Profd__Control__Response__ResultCase which, const void *result)
{
	Profd__Control__Response response = reply_response(which, result);

	reply_send_file(reply, &response, -1, 0);
}

bool reply_is_abandoned(const struct reply *reply)
{
	return !reply->connection;
}

void reply_ok(struct reply *reply)
{
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_OK,
		   &(Profd__Control__Empty)PROFD__CONTROL__EMPTY__INIT);
}

int reply_error(struct reply *reply, enum control_error code, const char *format, ...)
{
	Profd__Control__Error error = PROFD__CONTROL__ERROR__INIT;
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	error.code = (Profd__Control__ErrorCode)code;
	error.message = text;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_ERROR, &error);
	return CONTROL_DONE;
}

void reply_text(struct reply *reply, const char *text)
{
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_TEXT, text);
}

void reply_paths(struct reply *reply, char *const *paths)
{
	Profd__Control__Paths message = PROFD__CONTROL__PATHS__INIT;

	while (paths && paths[message.n_paths])
		message.n_paths++;
	message.paths = (char **)paths;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_PATHS, &message);
}

void reply_path_list(struct reply *reply, struct collected *list)
{
	Profd__Control__Paths message = PROFD__CONTROL__PATHS__INIT;
	Profd__Control__Response response = reply_response(PROFD__CONTROL__RESPONSE__RESULT_PATHS,
							   &message);

	message.bytes = list->bytes;
	reply_send_file(reply, &response, steal_fd(&list->fd), message.bytes);
}

void reply_build_ids(struct reply *reply, const struct symbols_wanted *wanted)
{
	Profd__Control__BuildIds message = PROFD__CONTROL__BUILD_IDS__INIT;
	ProtobufCBinaryData ids[SYMBOLS_WANTED_MAX];

	for (uint32_t i = 0; i < wanted->n; i++)
		ids[i] = (ProtobufCBinaryData){.len = wanted->ids[i].length,
					       .data = (uint8_t *)wanted->ids[i].bytes};
	message.n_build_ids = wanted->n;
	message.build_ids = ids;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_BUILD_IDS, &message);
}

void reply_collected(struct reply *reply, struct collected *collected)
{
	Profd__Control__Collected message = PROFD__CONTROL__COLLECTED__INIT;
	Profd__Control__Response response =
		reply_response(PROFD__CONTROL__RESPONSE__RESULT_COLLECTED, &message);

	message.bytes = collected->bytes;
	message.samples = collected->samples;
	message.windows = collected->n_windows;
	message.unreadable_files = collected->n_unreadable;
	message.in_pieces = collected->in_pieces;
	message.more = collected->more;
	message.over = collected->over;
	message.dropped = collected->dropped;
	message.lost = collected->lost;
	reply_send_file(reply, &response, steal_fd(&collected->fd), message.bytes);
}

bool reply_attached(struct reply *reply, const struct attach_ring *ring)
{
	struct connection *c = reply->connection;
	bool is_sent = c && attach_send(c->fd, ring);

	free(reply);
	if (!c)
		return false;
	c->reply = NULL;
	c->closing = true;
	if (!is_sent)
		c->owner->stats.failed++;
	return is_sent;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Reads until one packet is whole. */
static int connection_read_packet(struct connection *c, struct packet *ret)
{
	for (;;) {
		uint8_t *buffer = c->in ? c->in : c->header;
		ssize_t n;
		int r;

		r = packet_parse(buffer, c->in_size, PACKET_REQUEST_MAX, ret);
		if (r == PACKET_E_OK)
			return STEP_E_OK;
		if (r == PACKET_E_TOO_LARGE)
			return STEP_E_GARBAGE;
		if (!c->in && c->in_size == PACKET_HEADER_SIZE) {
			c->in = malloc(PACKET_HEADER_SIZE + ret->size);
			if (!c->in)
				return connection_fail(c);
			memcpy(c->in, c->header, PACKET_HEADER_SIZE);
			buffer = c->in;
		}
		n = recv(c->fd, buffer + c->in_size, ret->missing, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return STEP_E_WAIT;
		if (n <= 0)
			return STEP_E_END;
		c->in_size += (size_t)n;
	}
}

static void request_freep(Profd__Control__Request **request)
{
	if (*request)
		profd__control__request__free_unpacked(*request, NULL);
}

/* The row of the verb that @request asks for, with its message in *ret_message; NULL: none. */
static const struct control_verb *control_find_verb(const struct control_verb *verbs,
						    Profd__Control__Request *request,
						    void **ret_message)
{
	const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(
		request->base.descriptor, request->verb_case);

	for (const struct control_verb *verb = verbs; field && verb->name; verb++) {
		if (strcmp(verb->name, field->name) != 0 || verb->message != field->descriptor)
			continue;
		memcpy(ret_message, (char *)request + field->offset, sizeof(*ret_message));
		return verb;
	}
	return NULL;
}

static void connection_draw(struct connection *c, uint64_t cost_us)
{
	buckets_draw(&c->owner->buckets[c->peer.privileged], c->peer.uid, cost_us,
		     clock_ns(CLOCK_MONOTONIC));
}

/*
 * @reply is answered before this returns, or, if the handler has said so, later. @packet: NULL if
 * the client sent none. False: it is to come again.
 */
static bool connection_dispatch(struct connection *c, const struct packet *packet,
				struct reply *reply)
{
	struct control_call call = {.userdata = c->owner->userdata,
				    .peer = &c->peer,
				    .proc_fd = c->owner->proc_fd,
				    .reply = reply};
	cleanup(request_freep) Profd__Control__Request *request = NULL;
	const struct control_verb *verb = NULL;
	int r;

	if (packet)
		request = profd__control__request__unpack(NULL, packet->size, packet->payload);
	if (request)
		verb = control_find_verb(c->owner->verbs, request, &call.message);
	if (!request) {
		r = reply_error(reply, CONTROL_ERROR_USAGE,
				"malformed request (or more than 64 KiB); use profctl");
		c->closing = true;
	} else if (!verb) {
		r = reply_error(reply, CONTROL_ERROR_USAGE,
				"this profd (" PROFD_VERSION
				") does not support this request; is profctl newer?");
	} else if (verb->access & CONTROL_CHANGES && c->owner->read_only) {
		r = reply_error(reply, CONTROL_ERROR_FAILED,
				"%s: this profd only reads a store, and changes nothing",
				verb->name);
	} else if (verb->access & CONTROL_FOR_PRIVILEGED && !c->peer.privileged) {
		r = reply_error(reply, CONTROL_ERROR_DENIED,
				"%s needs root, or membership in the group that owns the store",
				verb->name);
	} else {
		r = verb->handle(&call);
	}
	if (r == CONTROL_BUSY)
		return false;
	connection_draw(c, verb ? verb->cost_us : UNKNOWN_US);
	if (r != CONTROL_PENDING && c->reply)
		reply_error(reply, CONTROL_ERROR_FAILED, "profd failed: %s",
			    r < 0 ? error_describe(r) : "internal error: unanswered request");
	return true;
}

/* @waited: it has waited for its turn. */
static int connection_read_request(struct connection *c, bool waited)
{
	struct listener_stats *stats = &c->owner->stats;
	struct packet packet;
	struct reply *reply;
	int r;

	connection_draw(c, TURN_US);
	r = connection_read_packet(c, &packet);
	if (r && r != STEP_E_GARBAGE)
		return r;
	reply = calloc(1, sizeof(*reply));
	if (!reply)
		return connection_fail(c);
	reply->connection = c;
	c->reply = reply;
	if (!connection_dispatch(c, r ? NULL : &packet, reply)) {
		free(reply);
		c->reply = NULL;
		c->wait_ns = BUSY_NS;
		return STEP_E_OK;
	}
	stats->requests[c->peer.privileged]++;
	stats->delayed[c->peer.privileged] += waited;
	free(c->in);
	c->in = NULL;
	c->in_size = 0;
	return STEP_E_OK;
}

/* What can be done without waiting, a request at most. False: the connection is to end. */
static bool connection_run_turn(struct connection *c)
{
	bool waited = c->wait_ns, was_reading = !waited && !c->reply && !c->out;
	int events, r = c->out || c->file >= 0 ? connection_write_some(c) : STEP_E_OK;

	c->wait_ns = 0;
	if (r == STEP_E_OK && !c->closing && !c->reply) {
		c->wait_ns = buckets_wait_ns(&c->owner->buckets[c->peer.privileged], c->peer.uid,
					     clock_ns(CLOCK_MONOTONIC));
		r = c->wait_ns ? STEP_E_OK : connection_read_request(c, waited);
	}
	if (r == STEP_E_END || (!c->out && c->closing))
		return false;
	events = c->out ? EPOLLOUT : c->reply || c->wait_ns ? 0 : EPOLLIN;
	r = sd_event_source_set_io_events(c->io, (uint32_t)events);
	if (r >= 0 && c->wait_ns)
		r = connection_set_timer(c, c->wait_ns);
	else if (r >= 0 && events == 0)
		r = sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
	/* While a request comes in bit by bit the time runs on; a new one gets time of its own. */
	else if (r >= 0 && events == EPOLLIN && !(was_reading && c->in_size > 0))
		connection_restart_timer(c);
	if (r < 0)
		c->owner->stats.failed++;
	return r >= 0;
}

static int connection_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct connection *c = userdata;

	(void)source, (void)fd;
	/* A client that hangs up while it waits for us will not read the answer. */
	if (((c->reply || c->wait_ns) && (events & (EPOLLHUP | EPOLLERR))) ||
	    !connection_run_turn(c))
		connection_end(c);
	return 0;
}

static int connection_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct connection *c = userdata;

	(void)source, (void)usec;
	if (!c->wait_ns)
		c->owner->stats.stalled++;
	if (!c->wait_ns || !connection_run_turn(c))
		connection_end(c);
	return 0;
}

int connection_new(struct connection **ret, struct connection_owner *owner, int fd,
		   const struct peer *peer)
{
	cleanup(connection_freep) struct connection *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_origin(-ENOMEM);
	c->owner = owner;
	c->peer = *peer;
	c->fd = -1;
	c->file = -1;
	r = sd_event_add_io(owner->loop, &c->io, fd, EPOLLIN, connection_on_io, c);
	if (r < 0)
		return error_origin(r);
	r = sd_event_add_time_relative(owner->loop, &c->timer, CLOCK_MONOTONIC,
				       owner->stall_ns / 1000, TIMER_US, connection_on_timer, c);
	if (r < 0)
		return error_origin(r);
	c->fd = fd;
	*ret = steal_ptr(&c);
	return 0;
}
