/* SPDX-License-Identifier: MIT */
/*
 * A socket file outlives the process that bound it. Whether it is stale is asked of the kernel:
 * connect() is refused when no process listens. A file that is no socket is never removed.
 *
 * bind(2) creates the file with the socket inode's mode less the umask (net/unix/af_unix.c,
 * unix_bind_bsd()): fchmod() before bind() closes the moment in which the file would be open to
 * all, without touching the umask, which is the whole process's.
 */
#include "common/unixsock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/packet.h"

#define BACKLOG 128

static int address_init(struct sockaddr_un *address, const char *path)
{
	size_t length = strlen(path);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (length == 0 || length >= sizeof(address->sun_path))
		return UNIXSOCK_E_BAD_PATH;
	memcpy(address->sun_path, path, length);
	return UNIXSOCK_E_OK;
}

int unixsock_remove_stale(const char *path)
{
	cleanup(closep) int fd = -1;
	struct sockaddr_un address;
	struct stat st;
	int r = address_init(&address, path);

	if (r)
		return r;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? UNIXSOCK_E_OK : error_origin(-errno);
	if (!S_ISSOCK(st.st_mode))
		return UNIXSOCK_E_IN_USE;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_origin(-errno);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
	    errno != ECONNREFUSED)
		return UNIXSOCK_E_IN_USE;
	if (unlink(path) < 0 && errno != ENOENT)
		return errno == EACCES || errno == EPERM ? UNIXSOCK_E_DENIED : error_origin(-errno);
	return UNIXSOCK_E_OK;
}

static int unixsock_bind(int fd, const char *path)
{
	struct sockaddr_un address;
	int r = address_init(&address, path);

	for (int attempt = 0; r == UNIXSOCK_E_OK && attempt < 2; attempt++) {
		if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
			return UNIXSOCK_E_OK;
		if (errno == EACCES || errno == EPERM || errno == EROFS)
			return UNIXSOCK_E_DENIED;
		if (errno != EADDRINUSE)
			return error_origin(-errno);
		r = unixsock_remove_stale(path);
	}
	return r == UNIXSOCK_E_OK ? UNIXSOCK_E_IN_USE : r;
}

int unixsock_listen(const char *path, mode_t mode, gid_t group, int *ret_fd)
{
	cleanup(closep) int fd = -1;
	int r;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_origin(-errno);
	if (fchmod(fd, mode & 0600) < 0)
		return error_origin(-errno);
	r = unixsock_bind(fd, path);
	if (r)
		return r;
	/* Without CAP_CHOWN only groups that we are in can be given: the mode then has to do. */
	if (group != (gid_t)-1 && lchown(path, (uid_t)-1, group) < 0 && errno != EPERM)
		return error_origin(-errno);
	if (chmod(path, mode) < 0)
		return error_origin(-errno);
	if (listen(fd, BACKLOG) < 0)
		return error_origin(-errno);
	*ret_fd = steal_fd(&fd);
	return UNIXSOCK_E_OK;
}

static int unixsock_connect_with(int flags, const char *path, int *ret_fd)
{
	cleanup(closep) int fd = -1;
	struct sockaddr_un address;
	int r = address_init(&address, path);

	if (r)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0)
		return error_origin(-errno);
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == EINTR)
			continue;
		if (errno == ENOENT || errno == ENOTDIR || errno == ECONNREFUSED ||
		    errno == EPROTOTYPE)
			return UNIXSOCK_E_NOBODY;
		if (errno == EACCES || errno == EPERM)
			return UNIXSOCK_E_DENIED;
		if (errno == EAGAIN)
			return UNIXSOCK_E_TIMEOUT;
		return error_origin(-errno);
	}
	*ret_fd = steal_fd(&fd);
	return UNIXSOCK_E_OK;
}

int unixsock_connect(const char *path, int *ret_fd)
{
	return unixsock_connect_with(0, path, ret_fd);
}

int unixsock_connect_at_once(const char *path, int *ret_fd)
{
	return unixsock_connect_with(SOCK_NONBLOCK, path, ret_fd);
}

static int64_t unixsock_now_ms(void)
{
	return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* All of @data, in the direction that @events says, until @deadline_ms. */
static int unixsock_transfer(int fd, short events, uint8_t *data, size_t size, int64_t deadline_ms)
{
	struct pollfd pollfd = {.fd = fd, .events = events};

	while (size) {
		int64_t left = deadline_ms - unixsock_now_ms();
		ssize_t n = poll(&pollfd, 1, left > 0 ? (int)left : 0);

		if (n == 0)
			return UNIXSOCK_E_TIMEOUT;
		if (n > 0)
			n = events == POLLIN ? recv(fd, data, size, MSG_DONTWAIT)
					     : send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n == 0 || (n < 0 && (errno == EPIPE || errno == ECONNRESET)))
			return UNIXSOCK_E_CLOSED;
		if (n < 0)
			return error_origin(-errno);
		data += n;
		size -= (size_t)n;
	}
	return UNIXSOCK_E_OK;
}

int unixsock_send(int fd, const uint8_t *payload, size_t size, int timeout_ms)
{
	int64_t deadline_ms = unixsock_now_ms() + timeout_ms;
	uint8_t header[PACKET_HEADER_SIZE];

	if (size > UINT32_MAX)
		return error_origin(-EMSGSIZE);
	packet_put_header(header, size);
	return unixsock_transfer(fd, POLLOUT, header, sizeof(header), deadline_ms)
		       ?: unixsock_transfer(fd, POLLOUT, (uint8_t *)(uintptr_t)payload, size,
					    deadline_ms);
}

int unixsock_receive(int fd, size_t max, int timeout_ms, uint8_t **ret_payload, size_t *ret_size)
{
	cleanup(freep) uint8_t *payload = NULL;
	int64_t deadline_ms = unixsock_now_ms() + timeout_ms;
	uint8_t header[PACKET_HEADER_SIZE];
	struct packet packet;
	int r = unixsock_transfer(fd, POLLIN, header, sizeof(header), deadline_ms);

	if (r)
		return r;
	if (packet_parse(header, sizeof(header), max, &packet) == PACKET_E_TOO_LARGE)
		return UNIXSOCK_E_TOO_LARGE;
	payload = malloc(packet.size + 1);
	if (!payload)
		return error_origin(-ENOMEM);
	r = unixsock_transfer(fd, POLLIN, payload, packet.size, deadline_ms);
	if (r)
		return r;
	*ret_payload = steal_ptr(&payload);
	*ret_size = packet.size;
	return UNIXSOCK_E_OK;
}
