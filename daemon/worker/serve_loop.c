/* SPDX-License-Identifier: MIT */
#include "daemon/worker/serve_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* Linux 6.3; vm.memfd_noexec=2 insists on it */
#endif

/* One message, as it came. */
struct message {
	uint8_t *data; /* WORKER_REQUEST_MAX bytes */
	size_t length;
	int fds[N_WORKER_FILES];
	size_t n_fds;
	bool is_cut;
};

static void message_close(struct message *m)
{
	for (size_t i = 0; i < m->n_fds; i++)
		close(m->fds[i]);
	m->n_fds = 0;
}

static void message_copy_fds(struct msghdr *header, struct message *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n && ret->n_fds < N_WORKER_FILES; i++)
			memcpy(&ret->fds[ret->n_fds++], CMSG_DATA(c) + i * sizeof(int),
			       sizeof(int));
	}
}

/* Waits. Returns 0, 1: the other end is closed, or negative errno. */
static int message_receive(int socket, struct message *ret)
{
	union {
		char bytes[CMSG_SPACE(N_WORKER_FILES * sizeof(int))];
		struct cmsghdr alignment;
	} control;
	struct iovec data = {.iov_base = ret->data, .iov_len = WORKER_REQUEST_MAX};
	struct msghdr header = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	do
		n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 1 : error_origin(-errno);
	if (!n)
		return 1;
	ret->length = (size_t)n;
	ret->is_cut = header.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	message_copy_fds(&header, ret);
	return 0;
}

/* A sealed memfd with the payload, or negative errno. */
static int make_memfd(const uint8_t *data, size_t length)
{
	cleanup(closep) int fd = -1;
	size_t done = 0;

	fd = memfd_create("profd-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("profd-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	while (done < length) {
		ssize_t n = write(fd, data + done, length - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			done += (size_t)n;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* Returns 0, 1: the other end is closed, or negative errno. */
static int send_answer_header(int socket, const struct worker_answer_header *answer, int memfd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = {.bytes = {0}};
	struct iovec data = {.iov_base = (void *)(uintptr_t)answer, .iov_len = sizeof(*answer)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t n;

	if (memfd >= 0) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &memfd, sizeof(memfd));
		header.msg_control = &control;
		header.msg_controllen = sizeof(control.bytes);
	}
	do
		n = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	return errno == EPIPE || errno == ECONNRESET ? 1 : error_origin(-errno);
}

static int send_answer(int socket, uint64_t id, const struct answer *answer, bool is_last)
{
	struct worker_answer_header header = {
		.magic = WORKER_MAGIC,
		.outcome = answer->outcome,
		.id = id,
		.is_last = is_last,
	};
	cleanup(closep) int memfd = -1;

	if (answer->length > WORKER_ANSWER_MAX) {
		header.outcome = WORKER_NO_MEMORY;
	} else if (answer->length > 0) {
		memfd = make_memfd(answer->data, answer->length);
		if (memfd < 0)
			header.outcome = WORKER_NO_MEMORY;
		else
			header.payload_length = answer->length;
	}
	return send_answer_header(socket, &header, memfd);
}

/* What was freed within the heap, but cannot go back to the kernel, counts as well. */
static uint64_t heap_held_bytes(void)
{
	struct mallinfo2 heap = mallinfo2();

	return (uint64_t)heap.arena + heap.hblkhd;
}

int serve_loop(struct server *s, int socket, const struct serve_limits *limits)
{
	cleanup(freep) uint8_t *data = malloc(WORKER_REQUEST_MAX);
	struct answer answer = {.outcome = WORKER_DONE};
	struct message message = {.data = data};
	bool is_last = false;
	int r;

	if (!data)
		return error_origin(-ENOMEM);
	r = send_answer(socket, 0, &answer, false);
	while (!r && !is_last) {
		struct request request;

		r = message_receive(socket, &message);
		if (r)
			break;
		if (request_parse(data, message.length, message.fds, message.n_fds, &request) &&
		    !message.is_cut)
			server_answer(s, &request, &answer);
		else
			answer = (struct answer){.outcome = WORKER_BAD_REQUEST};
		message_close(&message);
		is_last = clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= limits->cpu_ns ||
			  heap_held_bytes() > limits->keep_bytes + answer.length;
		r = send_answer(socket, request.header.id, &answer, is_last);
		free(answer.data);
		answer = (struct answer){.outcome = WORKER_DONE};
	}
	return r < 0 ? r : 0;
}
