/* SPDX-License-Identifier: MIT */
/* The server's part. */
#include "common/shim/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/shim/ring_layout.h"

/* linux/memfd.h, kernel 6.3; older ones refuse what they do not know. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static int make_memory(struct attach_ring *ring)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

	ring->memory_fd = memfd_create("profd-ring", flags | MFD_NOEXEC_SEAL);
	if (ring->memory_fd < 0 && errno == EINVAL)
		ring->memory_fd = memfd_create("profd-ring", flags);
	if (ring->memory_fd < 0 || ftruncate(ring->memory_fd, (off_t)ring->length) < 0 ||
	    fcntl(ring->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return error_origin(-errno);
	ring->memory = mmap(NULL, ring->length, PROT_READ | PROT_WRITE, MAP_SHARED, ring->memory_fd,
			    0);
	if (ring->memory == MAP_FAILED) {
		ring->memory = NULL;
		return error_origin(-errno);
	}
	return 0;
}

int attach_ring_init(struct attach_ring *ret, uint32_t n_words)
{
	cleanup(attach_ring_deinit) struct attach_ring ring = ATTACH_RING_NONE;
	int ends[2], r;

	ring.length = RING_PAGE + (size_t)n_words * 8;
	r = make_memory(&ring);
	if (r)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return error_origin(-errno);
	ring.bell = ends[0];
	ring.bell_fd = ends[1];
	*ret = ring;
	ring = ATTACH_RING_NONE;
	return 0;
}

void attach_ring_close_sent(struct attach_ring *ring)
{
	closep(&ring->memory_fd);
	closep(&ring->bell_fd);
	ring->memory_fd = ring->bell_fd = -1;
}

void attach_ring_deinit(struct attach_ring *ring)
{
	attach_ring_close_sent(ring);
	closep(&ring->bell);
	if (ring->memory)
		munmap(ring->memory, ring->length);
	*ring = ATTACH_RING_NONE;
}

bool attach_send(int socket, const struct attach_ring *ring)
{
	const int fds[2] = {ring->memory_fd, ring->bell_fd};
	struct iovec bytes = {(void *)(uintptr_t)attach_answer, ATTACH_ANSWER_SIZE};
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(fds))] = {0};
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(header), fds, sizeof(fds));
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == ATTACH_ANSWER_SIZE;
}
