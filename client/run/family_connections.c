/* SPDX-License-Identifier: MIT */
/*
 * A connection sends one request, always the same bytes; its process then becomes a member.
 * Anything else, or nothing for too long, closes it. Which process it is, the kernel says.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>

#include "client/run/family_private.h"
#include "common/shim/attach.h"

#define CONNECTIONS_MAX 512
/* Drains that a connection may take to say what it wants. */
#define PATIENCE 20

/* Linux 6.5; older ones refuse it. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

struct connection {
	struct family *family;
	struct connection *next;
	int fd;
	unsigned age;
	size_t n;
	uint8_t bytes[ATTACH_REQUEST_SIZE];
	sd_event_source *on_bytes;
};

static void drop_connection(struct connection *c)
{
	LL_DELETE(c->family->connections, c);
	c->family->n_connections--;
	sd_event_source_disable_unref(c->on_bytes);
	close(c->fd);
	free(c);
}

/* The process that connected, or -1: it is gone, or none of those that we see. */
static int open_peer(int fd, pid_t *ret_pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct pollfd pollfd = {.fd = fd};
	int pidfd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0)
		return -1;
	*ret_pid = peer.pid;
	size = sizeof(pidfd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
		return pidfd;
	/* It still holds its end afterwards: so the number was not given to another one. */
	pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	if (pidfd >= 0 && poll(&pollfd, 1, 0) > 0 && pollfd.revents & (POLLHUP | POLLERR)) {
		close(pidfd);
		return -1;
	}
	return pidfd;
}

static int connection_add_member(struct connection *c)
{
	struct family *f = c->family;
	pid_t pid;
	int pidfd = open_peer(c->fd, &pid);

	if (pidfd >= 0)
		return family_add_member(f, pid, pidfd, c->fd);
	f->totals.n_refused++;
	return 0;
}

static int on_bytes(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct connection *c = userdata;
	ssize_t n = recv(fd, c->bytes + c->n, sizeof(c->bytes) - c->n, MSG_DONTWAIT);
	int r = 0;

	(void)source;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0)
		c->n += (size_t)n;
	if (n > 0 && c->n < sizeof(c->bytes))
		return 0;
	if (n > 0 && !memcmp(c->bytes, attach_request, sizeof(c->bytes)))
		r = connection_add_member(c);
	drop_connection(c);
	return r;
}

/* Those that want a ring say so at once: it is the one that least looks like it. */
static void drop_oldest_connection(struct family *f)
{
	struct connection *c = f->connections;

	while (c->next)
		c = c->next;
	drop_connection(c);
}

int family_on_connect(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct family *f = userdata;
	struct connection *c;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source;
	(void)events;
	if (peer < 0)
		return 0;
	if (f->n_connections == CONNECTIONS_MAX)
		drop_oldest_connection(f);
	c = calloc(1, sizeof(*c));
	if (!c || sd_event_add_io(f->loop, &c->on_bytes, peer, EPOLLIN, on_bytes, c) < 0) {
		f->totals.n_refused++;
		close(peer);
		free(c);
		return 0;
	}
	c->family = f;
	c->fd = peer;
	LL_PREPEND(f->connections, c);
	f->n_connections++;
	return 0;
}

void family_age_connections(struct family *f)
{
	struct connection *next;

	for (struct connection *c = f->connections; c; c = next) {
		next = c->next;
		if (++c->age > PATIENCE)
			drop_connection(c);
	}
}

void family_drop_connections(struct family *f)
{
	while (f->connections)
		drop_connection(f->connections);
}
