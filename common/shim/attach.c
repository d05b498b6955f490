/* SPDX-License-Identifier: MIT */
/*
 * What is said, on both sides, in common/control.proto's bytes (protobuf.dev/encoding); and the
 * library's part, in which nothing allocates or takes a lock.
 */
#include "common/shim/attach.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/helper/fd_packet.h"
#include "common/wire.h"

/* A field's number and that a length follows. */
#define FIELD(number)  ((number) << 3 | 2)
#define REQUEST_ATTACH FIELD(13) /* Request.attach_shim */
#define RESPONSE_OK    FIELD(1)  /* Response.ok */
#define RESPONSE_ERROR FIELD(2)  /* Response.error */
#define ERROR_MESSAGE  2         /* Error.message */

const uint8_t attach_request[ATTACH_REQUEST_SIZE] = {0, 0, 0, 2, REQUEST_ATTACH, 0};
const uint8_t attach_answer[ATTACH_ANSWER_SIZE] = {0, 0, 0, 2, RESPONSE_OK, 0};

/* An Error's message; nothing if there is none in it. */
static struct wire find_message(struct wire error)
{
	struct wire_field field;

	while (wire_next(&error, &field))
		if (field.number == ERROR_MESSAGE && field.type == WIRE_BYTES)
			return field.bytes;
	return (struct wire){0};
}

static void put_reason(struct attach_reason *reason, struct wire text)
{
	size_t n = 0;

	for (; text.at < text.end && n < sizeof(reason->text) - 1; text.at++)
		reason->text[n++] = *text.at >= ' ' && *text.at <= '~' ? (char)*text.at : '?';
	reason->text[n] = '\0';
}

int attach_parse_answer(const uint8_t *data, size_t size, struct attach_reason *ret_reason)
{
	struct wire_field error;
	struct packet packet;
	struct wire bytes;

	switch (packet_parse(data, size, ATTACH_ANSWER_MAX - PACKET_HEADER_SIZE, &packet)) {
	case PACKET_E_OK:
		break;
	case PACKET_E_PARTIAL:
		return ATTACH_ANSWER_PARTIAL;
	default:
		return ATTACH_E_NOBODY;
	}
	bytes = (struct wire){packet.payload, packet.payload + packet.size};
	if (bytes.at == bytes.end)
		return ATTACH_E_NOBODY;
	if (*bytes.at == RESPONSE_OK)
		return ATTACH_E_OK;
	if (*bytes.at != RESPONSE_ERROR || !wire_next(&bytes, &error))
		return ATTACH_E_NOBODY;
	put_reason(ret_reason, find_message(error.bytes));
	return ATTACH_E_REFUSED;
}

/* Before it is tried again where too many are waiting to be let in. */
#define PAUSE_NS 2000000

/* A socket that is full does not tell when it is not any more (unix(7)): EAGAIN at once. */
static int attach_connect_socket(int fd, const char *path, uint64_t deadline_ns)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);

	if (!length || length >= sizeof(address.sun_path))
		return ATTACH_E_NOBODY;
	memcpy(address.sun_path, path, length);
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return errno == EACCES || errno == EPERM ? ATTACH_E_DENIED
								 : ATTACH_E_NOBODY;
		if (clock_ns(CLOCK_MONOTONIC) >= deadline_ns)
			return ATTACH_E_TIMEOUT;
		nanosleep(&pause, NULL);
	}
	return ATTACH_E_OK;
}

/* Receives all of it; its descriptors come beside the first byte. Returns ATTACH_E_*. */
static int attach_receive_answer(int fd, uint64_t deadline_ns, struct fd_packet *first,
				 struct attach_reason *reason)
{
	uint8_t bytes[ATTACH_ANSWER_MAX];
	size_t size = 0;
	int r, parsed = ATTACH_ANSWER_PARTIAL;

	while (parsed == ATTACH_ANSWER_PARTIAL) {
		cleanup(fd_packet_deinit) struct fd_packet later = {0};
		struct fd_packet *piece = size ? &later : first;

		if (size == sizeof(bytes))
			return ATTACH_E_NOBODY;
		if (!fd_packet_await(fd, deadline_ns))
			return ATTACH_E_TIMEOUT;
		r = fd_packet_receive(fd, bytes + size, sizeof(bytes) - size, MSG_DONTWAIT, piece);
		if (r == FD_PACKET_E_LATER)
			continue;
		if (r)
			return ATTACH_E_NOBODY;
		size += piece->length;
		parsed = attach_parse_answer(bytes, size, reason);
	}
	return parsed == ATTACH_E_OK && first->n_fds != 2 ? ATTACH_E_NOBODY : parsed;
}

int attach_connect(const char *path, int timeout_ms, int *ret_memory_fd, int *ret_bell_fd,
		   struct attach_reason *ret_reason)
{
	uint64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * NS_PER_MS;
	cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cleanup(fd_packet_deinit) struct fd_packet first = {0};
	int r;

	if (fd < 0)
		return ATTACH_E_NOBODY;
	r = attach_connect_socket(fd, path, deadline_ns);
	if (r)
		return r;
	/* A fresh socket has room for so little. */
	if (send(fd, attach_request, ATTACH_REQUEST_SIZE, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    ATTACH_REQUEST_SIZE)
		return ATTACH_E_NOBODY;
	r = attach_receive_answer(fd, deadline_ns, &first, ret_reason);
	if (r)
		return r;
	*ret_memory_fd = steal_fd(&first.fds[0]);
	*ret_bell_fd = steal_fd(&first.fds[1]);
	return ATTACH_E_OK;
}
