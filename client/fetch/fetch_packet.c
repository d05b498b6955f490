/* SPDX-License-Identifier: MIT */
#include "client/fetch/fetch_packet.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void fetch_packet_fds_deinit(struct fetch_packet_fds *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		if (fds->all[i] >= 0)
			close(fds->all[i]);
	fds->n = 0;
}

int fetch_packet_send(int socket, const void *data, size_t size, const int *fds, size_t n_fds,
		      int flags)
{
	char control[CMSG_SPACE(FETCH_PACKET_FDS_MAX * sizeof(int))]
		__attribute__((aligned(8))) = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n;

	if (n_fds > FETCH_PACKET_FDS_MAX)
		return -EINVAL;
	if (n_fds) {
		struct cmsghdr *c;

		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(socket, &header, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void fetch_packet_parse_fds(struct msghdr *header, struct fetch_packet_fds *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (ret->n < FETCH_PACKET_FDS_MAX) {
				ret->all[ret->n++] = fd;
			} else {
				close(fd);
				ret->n_more++;
			}
		}
	}
}

ssize_t fetch_packet_receive(int socket, void *data, size_t size, struct fetch_packet_fds *ret_fds)
{
	/* For one more: the kernel closes what has no room, and that would not be seen. */
	char control[CMSG_SPACE((FETCH_PACKET_FDS_MAX + 1) * sizeof(int))]
		__attribute__((aligned(8)));
	struct iovec part = {.iov_base = data, .iov_len = size};
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	*ret_fds = (struct fetch_packet_fds){0};
	do
		n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	fetch_packet_parse_fds(&header, ret_fds);
	return n;
}
