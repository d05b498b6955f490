/* SPDX-License-Identifier: MIT */
/*
 * Strangers may connect, so every place they could fill up is bounded, and a part of the places is
 * out of their reach (places_has_room()). Who connects is known only when accepted, so what that
 * costs is bounded for all together.
 */
#include "daemon/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/unixsock.h"
#include "daemon/control/connection.h"

#define ACCEPTS_PER_TURN 4
#define STALL_NS         (10 * NS_PER_S)
/* 2000 connections a second. Without fds or memory it is readable without an end. */
#define TURNS_MAX    10u
#define TURNS_PER_US 20000u

struct listener {
	struct connection_owner owner;
	int fd;
	char *path; /* of the socket that we made, else NULL */
	dev_t path_dev;
	ino_t path_ino;
	gid_t group;
	sd_event_source *io;
};

/* The supplementary groups of the peer (setgroups(2)). */
static int is_in_group(int fd, gid_t group, bool *ret)
{
	socklen_t size = NGROUPS_MAX * sizeof(gid_t);
	cleanup(freep) gid_t *groups = malloc(size);

	if (!groups)
		return error_origin(-ENOMEM);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return error_origin(-errno);
	*ret = false;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		*ret |= groups[i] == group;
	return 0;
}

/*
 * Who is at the other end: credentials and groups as they were at connect(2) (SO_PEERCRED,
 * SO_PEERGROUPS: socket(7), kernel 28b5ba2aa0f5), not as they are now. @group: its members are
 * privileged; (gid_t)-1: none.
 */
static int peer_init(struct peer *ret, int fd, gid_t group)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);
	bool member = false;
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return error_origin(-errno);
	if (group != (gid_t)-1) {
		r = is_in_group(fd, group, &member);
		if (r)
			return r;
		member |= credentials.gid == group;
	}
	*ret = (struct peer){
		.uid = credentials.uid,
		.gid = credentials.gid,
		.pid = credentials.pid,
		.privileged = credentials.uid == 0 || credentials.uid == geteuid() || member,
	};
	return 0;
}

static bool listener_has_room(const struct listener *l, const struct peer *peer)
{
	struct places places = {.max = CONNECTIONS_MAX};

	for (unsigned i = 0; i < l->owner.n_connections; i++) {
		const struct peer *other = connection_get_peer(l->owner.connections[i]);

		places_count(&places, peer, other->uid, other->privileged);
	}
	return places_has_room(&places, peer);
}

static void listener_refuse(struct listener *l, int fd)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t size = 0;

	data = reply_pack_error(CONTROL_ERROR_FAILED, "too many clients are connected; try again",
				&size);
	/* A fresh socket's buffer takes that much; if not, closing says it too. */
	if (data && send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		l->owner.stats.failed++;
}

/* Takes @fd over. What fails here concerns one client only. */
static void listener_admit(struct listener *l, int accepted)
{
	cleanup(closep) int fd = accepted;
	struct connection *c;
	struct peer peer;

	if (peer_init(&peer, fd, l->group) < 0) {
		l->owner.stats.failed++;
		return;
	}
	if (!listener_has_room(l, &peer)) {
		l->owner.stats.refused[peer.privileged]++;
		listener_refuse(l, fd);
		return;
	}
	if (connection_new(&c, &l->owner, fd, &peer) < 0) {
		l->owner.stats.failed++;
		return;
	}
	steal_fd(&fd);
	l->owner.connections[l->owner.n_connections++] = c;
}

static int listener_on_connect(sd_event_source *source, int listening, uint32_t events,
			       void *userdata)
{
	struct listener *l = userdata;

	(void)source, (void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		/* Nobody more, or no fds or memory for them: then the socket stays readable. */
		if (fd < 0)
			return 0;
		listener_admit(l, fd);
	}
	return 0;
}

/* (gid_t)-1 if there is no such group: then nobody is in it. */
static gid_t listener_find_group(const char *name)
{
	const struct group *group = name ? getgrnam(name) : NULL;

	return group ? group->gr_gid : (gid_t)-1;
}

static int listener_bind_socket(struct listener *l, const struct listener_options *options)
{
	struct stat st;
	int r;

	l->path = strdup(options->path);
	if (!l->path)
		return error_origin(-ENOMEM);
	r = unixsock_listen(l->path, options->mode, l->group, &l->fd);
	if (r == 0 && lstat(l->path, &st) == 0) {
		l->path_dev = st.st_dev;
		l->path_ino = st.st_ino;
		return 0;
	}
	/* Not ours to remove. */
	free(l->path);
	l->path = NULL;
	return r ? r : error_origin(-EIO);
}

static int listener_use_passed(struct listener *l, int passed)
{
	int flags;

	/* A duplicate, so that the caller's stays the caller's whatever happens here. */
	l->fd = fcntl(passed, F_DUPFD_CLOEXEC, 3);
	if (l->fd < 0)
		return error_origin(-errno);
	flags = fcntl(l->fd, F_GETFL);
	if (flags < 0 || fcntl(l->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return error_origin(-errno);
	return 0;
}

int listener_new(struct listener **ret, sd_event *loop, const struct listener_options *options)
{
	cleanup(listener_freep) struct listener *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return error_origin(-ENOMEM);
	l->fd = -1;
	l->group = listener_find_group(options->group);
	l->owner = (struct connection_owner){
		.loop = sd_event_ref(loop),
		.verbs = options->verbs,
		.read_only = options->read_only,
		.userdata = options->userdata,
		.buckets = options->buckets,
		.stall_ns = options->stall_ns ? options->stall_ns : STALL_NS,
	};
	l->owner.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (l->owner.proc_fd < 0)
		return error_origin(-errno);
	r = options->fd >= 0 ? listener_use_passed(l, options->fd)
			     : listener_bind_socket(l, options);
	if (r)
		return r;
	r = sd_event_add_io(loop, &l->io, l->fd, EPOLLIN, listener_on_connect, l);
	if (r >= 0)
		r = sd_event_source_set_ratelimit(l->io, TURNS_PER_US, TURNS_MAX);
	if (r < 0)
		return error_origin(r);
	*ret = steal_ptr(&l);
	return 0;
}

int listener_hand_over(struct listener *l)
{
	int r = l->path ? 0 : sd_event_source_set_enabled(l->io, SD_EVENT_OFF);

	return r < 0 ? error_origin(r) : 0;
}

void listener_free(struct listener *l)
{
	struct stat st;

	if (!l)
		return;
	for (unsigned i = 0; i < l->owner.n_connections; i++)
		connection_free(l->owner.connections[i]);
	sd_event_source_disable_unref(l->io);
	/* Unless another one has put its own there meanwhile. */
	if (l->path && lstat(l->path, &st) == 0 && st.st_dev == l->path_dev &&
	    st.st_ino == l->path_ino)
		unlink(l->path);
	free(l->path);
	closep(&l->fd);
	closep(&l->owner.proc_fd);
	sd_event_unref(l->owner.loop);
	free(l);
}

void listener_get_stats(const struct listener *l, struct listener_stats *ret)
{
	*ret = l->owner.stats;
}
