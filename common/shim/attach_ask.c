/* SPDX-License-Identifier: MIT */
/* The library's part: nothing here allocates or takes a lock. */
#include "common/shim/attach.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

/* Before it is tried again where too many are waiting to be let in. */
#define PAUSE_NS 2000000
#define FDS_MAX  8

static int64_t attach_now_ms(void)
{
	return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* The server cannot be reached like this: what becomes of it. */
static int attach_connect_outcome(int error)
{
	return error == EACCES || error == EPERM ? ATTACH_E_DENIED : ATTACH_E_NOBODY;
}

/* A socket that is full does not tell when it is not any more (unix(7)): EAGAIN at once. */
static int attach_connect_socket(int fd, const char *path, int64_t deadline_ms)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);

	if (!length || length >= sizeof(address.sun_path))
		return ATTACH_E_NOBODY;
	memcpy(address.sun_path, path, length);
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return attach_connect_outcome(errno);
		if (attach_now_ms() >= deadline_ms)
			return ATTACH_E_TIMEOUT;
		nanosleep(&pause, NULL);
	}
	return ATTACH_E_OK;
}

struct answer {
	uint8_t bytes[ATTACH_ANSWER_MAX];
	size_t size;
	int fds[FDS_MAX];
	size_t n_fds;
};

static void answer_close(struct answer *answer)
{
	for (size_t i = 0; i < answer->n_fds; i++)
		close(answer->fds[i]);
	answer->n_fds = 0;
}

static void attach_collect_fds(struct answer *answer, struct msghdr *message)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fds[FDS_MAX];

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(header), n * sizeof(int));
		for (size_t i = 0; i < n; i++) {
			if (answer->n_fds < FDS_MAX)
				answer->fds[answer->n_fds++] = fds[i];
			else
				close(fds[i]);
		}
	}
}

/* Receives more of it. Returns ATTACH_E_*. */
static int attach_receive_answer(int fd, int64_t deadline_ms, struct answer *answer)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct iovec bytes = {answer->bytes + answer->size, sizeof(answer->bytes) - answer->size};
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};
	int64_t left = deadline_ms - attach_now_ms();
	ssize_t n;

	if (left <= 0)
		return ATTACH_E_TIMEOUT;
	if (poll(&pollfd, 1, (int)left) <= 0)
		return ATTACH_E_OK;
	n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? ATTACH_E_OK : ATTACH_E_NOBODY;
	attach_collect_fds(answer, &message);
	if (n == 0)
		return ATTACH_E_NOBODY;
	answer->size += (size_t)n;
	return ATTACH_E_OK;
}

static int attach_exchange(int fd, int64_t deadline_ms, struct answer *answer,
			   struct attach_reason *reason)
{
	int r, parsed = ATTACH_ANSWER_PARTIAL;

	/* A fresh socket has room for so little. */
	if (send(fd, attach_request, ATTACH_REQUEST_SIZE, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    ATTACH_REQUEST_SIZE)
		return ATTACH_E_NOBODY;
	while (parsed == ATTACH_ANSWER_PARTIAL) {
		if (answer->size == sizeof(answer->bytes))
			return ATTACH_E_NOBODY;
		r = attach_receive_answer(fd, deadline_ms, answer);
		if (r)
			return r;
		parsed = attach_parse_answer(answer->bytes, answer->size, reason);
	}
	if (parsed == ATTACH_E_OK && answer->n_fds != 2)
		return ATTACH_E_NOBODY;
	return parsed;
}

int attach_connect(const char *path, int timeout_ms, int *ret_memory_fd, int *ret_bell_fd,
		   struct attach_reason *ret_reason)
{
	int64_t deadline_ms = attach_now_ms() + timeout_ms;
	cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cleanup(answer_close) struct answer answer = {.size = 0};
	int r;

	if (fd < 0)
		return ATTACH_E_NOBODY;
	r = attach_connect_socket(fd, path, deadline_ms);
	if (!r)
		r = attach_exchange(fd, deadline_ms, &answer, ret_reason);
	if (r)
		return r;
	*ret_memory_fd = answer.fds[0];
	*ret_bell_fd = answer.fds[1];
	answer.n_fds = 0;
	return ATTACH_E_OK;
}
