/* SPDX-License-Identifier: MIT */
/* The server's part. */
#include "common/shim/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/shim/ring_layout.h"
#include "common/shim/ring_reader.h"

static int attach_ring_map(struct attach_ring *ring)
{
	int fd = memory_file_new("profd-ring");

	if (fd < 0)
		return error_origin(fd);
	ring->memory_fd = fd;
	if (ftruncate(fd, (off_t)ring->length) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return error_origin(-errno);
	ring->memory = mmap(NULL, ring->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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
	r = attach_ring_map(&ring) ?: ring_reader_new(&ring.reader, ring.memory, ring.length);
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
	ring_reader_free(ring->reader);
	if (ring->memory)
		munmap(ring->memory, ring->length);
	*ring = ATTACH_RING_NONE;
}

bool attach_send(int socket, const struct attach_ring *ring)
{
	const int fds[2] = {ring->memory_fd, ring->bell_fd};

	return !fd_packet_send(socket, attach_answer, ATTACH_ANSWER_SIZE, fds, ARRAY_SIZE(fds),
			       MSG_DONTWAIT);
}
