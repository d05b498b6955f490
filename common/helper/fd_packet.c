/* SPDX-License-Identifier: MIT */
/*
 * sendmsg(2) and recvmsg(2) with their outcomes, and a control buffer for as many descriptors as
 * a packet can have: what the kernel leaves out for lack of room it marks, so that nothing is
 * lost silently.
 */
#include "common/helper/fd_packet.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* Room for all descriptors of a packet. */
union fd_packet_control {
	char bytes[CMSG_SPACE(FD_PACKET_FDS_MAX * sizeof(int))];
	struct cmsghdr header;
};

int fd_packet_send_parts(int socket, const struct iovec *parts, size_t n_parts, const int *fds,
			 size_t n_fds, int flags)
{
	union fd_packet_control control = {.bytes = {0}};
	struct msghdr message = {
		.msg_iov = (struct iovec *)(uintptr_t)parts,
		.msg_iovlen = n_parts,
	};
	ssize_t n;

	if (n_fds > FD_PACKET_FDS_MAX)
		return -EINVAL;
	if (n_fds) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return FD_PACKET_E_OK;
	if (errno == EPIPE || errno == ECONNRESET)
		return FD_PACKET_E_END;
	return errno == EAGAIN ? FD_PACKET_E_LATER : -errno;
}

int fd_packet_send(int socket, const void *data, size_t size, const int *fds, size_t n_fds,
		   int flags)
{
	const struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};

	return fd_packet_send_parts(socket, &part, 1, fds, n_fds, flags);
}

static void fd_packet_add_fds(struct fd_packet *p, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    n > FD_PACKET_FDS_MAX - p->n_fds)
			continue; /* never more than the control buffer has room for */
		memcpy(p->fds + p->n_fds, CMSG_DATA(c), n * sizeof(int));
		p->n_fds += n;
	}
}

void fd_packet_deinit(struct fd_packet *p)
{
	for (size_t i = 0; i < p->n_fds; i++)
		if (p->fds[i] >= 0)
			close(p->fds[i]);
	p->n_fds = 0;
}

int fd_packet_receive(int socket, void *data, size_t size, int flags, struct fd_packet *ret)
{
	union fd_packet_control control;
	struct iovec part = {.iov_base = data, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	ret->length = ret->n_fds = 0;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == ECONNRESET)
		return FD_PACKET_E_RESET;
	if (n < 0)
		return errno == EAGAIN ? FD_PACKET_E_LATER : -errno;
	fd_packet_add_fds(ret, &message);
	ret->length = (size_t)n;
	ret->is_cut = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	if (n)
		return FD_PACKET_E_OK;
	/* An empty packet may have descriptors all the same. */
	fd_packet_deinit(ret);
	return FD_PACKET_E_END;
}

bool fd_packet_await(int socket, uint64_t until_ns)
{
	struct pollfd ready = {.fd = socket, .events = POLLIN};
	uint64_t now_ns;
	int n = 0;

	while (n <= 0 && (now_ns = clock_ns(CLOCK_MONOTONIC)) < until_ns) {
		const struct timespec left = clock_timespec(until_ns - now_ns);

		n = ppoll(&ready, 1, &left, NULL);
		if (n < 0 && errno != EINTR)
			return false;
	}
	return n > 0;
}
