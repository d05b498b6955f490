/* SPDX-License-Identifier: MIT */
/*
 * One event loop serves everything: the socket, connections that have not sent their request,
 * members, and the command itself. A timer drains every ring; a bell, rung when a ring is half
 * full, drains that ring at once. When the command ends, all rings are read to their ends.
 *
 * A connection sends one request, always the same bytes; its process then becomes a member.
 * Anything else, or nothing for too long, closes it. Which process it is, the kernel says.
 *
 * A member is one program of a process with its ring, from attaching until the process ends or
 * attaches again, as it does after execve(2). Then the rest of the ring is read, and its samples
 * are added to the profile.
 *
 * A child process reads a member's files in /proc, because their locks may be held for ever: by the
 * member itself, or by a file system that does not answer it. A member that could not be read is
 * tried again at growing intervals.
 */
#include "client/run/family.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include <utlist.h>

#include "client/run/launch.h"
#include "client/run/run_dir.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/helper/proc_child.h"
#include "common/proc.h"
#include "common/shim/attach.h"
#include "common/unixsock.h"

#define DRAIN_NS        UINT64_C(100000000)
#define RING_WORDS      (1u << 17) /* 1 MiB; pages that are never used cost nothing */
#define BUDGET          ((size_t)RING_WORDS / 4)
#define CONNECTIONS_MAX 512
/* Drains that a connection may take to say what it wants. */
#define PATIENCE   20
#define AGAIN_NS   (2 * NS_PER_S) /* the first time; then eight times as long each time */
#define AGAINS_MAX 6

struct family {
	struct gather *gather;
	uint32_t frequency;
	struct run_dir dir;
	char socket[96];
	sd_event *loop;
	struct proc_child *looker;
	int proc_fd, listener;
	struct family_member *members;
	struct family_connection *connections;
	size_t n_connections;
	pid_t pid;
	int status;
	struct family_totals totals;
};

/* --- members --------------------------------------------------------------------------------- */

struct family_member {
	struct family *family;
	struct family_member *next;
	int pid, pidfd;
	struct attach_ring ring;
	struct gather_process *process;
	sd_event_source *on_bell, *on_end;
	bool is_broken;
	unsigned n_in_vain; /* looks at it */
	uint64_t again_ns;  /* not before then */
};

static void member_free(struct family_member *m)
{
	if (!m)
		return;
	sd_event_source_disable_unref(m->on_bell);
	sd_event_source_disable_unref(m->on_end);
	attach_ring_deinit(&m->ring);
	gather_process_free(m->process);
	closep(&m->pidfd);
	free(m);
}
DEFINE_CLEANUP(struct family_member *, member_free)

/* True: there may be more. */
static bool member_drain(struct family_member *m, size_t budget, bool is_last)
{
	const struct ring_sink sink = {gather_sample, gather_maps, m->process};
	int r;

	if (m->is_broken)
		return false;
	r = ring_reader_drain(m->ring.reader, budget, is_last, &sink);
	if (r == RING_READER_E_BROKEN) {
		m->is_broken = true;
		m->family->totals.n_broken++;
		ring_reader_set_frequency(m->ring.reader, 0);
	}
	return r == RING_READER_E_MORE;
}

/* Notes what came of a look at @m, PROC_E_*. True: there is what was looked for. */
static bool member_has_seen(struct family_member *m, int r)
{
	struct family_totals *totals = &m->family->totals;

	if (r != PROC_E_HELD_UP)
		return r == PROC_E_OK;
	totals->n_held_up += !m->n_in_vain;
	totals->held_up = m->pid;
	m->again_ns = clock_ns(CLOCK_MONOTONIC) + (AGAIN_NS << 3 * m->n_in_vain);
	m->n_in_vain += m->n_in_vain < AGAINS_MAX;
	return false;
}

/* All of a file of the process below /proc, malloc'ed; NULL: it is not there, empty or too long. */
static char *member_read_proc(struct family_member *m, const char *name, size_t *ret_length)
{
	char *text;

	if (!member_has_seen(m,
			     proc_read_file(m->family->proc_fd, m->pid, name, &text, ret_length)))
		return NULL;
	if (*ret_length && *ret_length <= RING_MAPS_MAX)
		return text;
	free(text);
	return NULL;
}

/* The path of its program; "": nobody knows. */
static void member_read_program(struct family_member *m, char ret[static PATH_MAX])
{
	cleanup(closep) int fd = -1;
	char path[64];
	ssize_t n = -1;

	snprintf(path, sizeof(path), "%d/exe", m->pid);
	if (member_has_seen(m, proc_open_name(m->family->proc_fd, m->pid, path, &fd))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, ret, PATH_MAX - 1);
	}
	ret[n < 0 ? 0 : n] = '\0';
}

/* The mappings are the ring's program's as long as that has its end of the bell. */
static void member_read_mappings(struct family_member *m)
{
	cleanup(freep) char *text = NULL;
	size_t length;
	char byte;

	if (!gather_wants_maps(m->process) ||
	    (m->n_in_vain && clock_ns(CLOCK_MONOTONIC) < m->again_ns))
		return;
	text = member_read_proc(m, "maps", &length);
	if (text && recv(m->ring.bell, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		gather_update_maps(m->process, text, length);
}

/* Nothing more comes, or is to come. Frees it. */
static int member_finish(struct family_member *m)
{
	struct family *f = m->family;
	struct ring_ledger ledger;
	int r;

	ring_reader_set_frequency(m->ring.reader, 0);
	/* Not for ever: somebody else may have the memory. */
	member_drain(m, 2 * (size_t)RING_WORDS, true);
	ring_reader_ledger(m->ring.reader, &ledger);
	r = gather_finish(m->process, &ledger);
	LL_DELETE(f->members, m);
	member_free(m);
	return r;
}

static int on_bell(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct family_member *m = userdata;
	char bytes[256];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

	(void)events;
	/* The other end is closed, which says nothing yet: it may execute another program. */
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	member_drain(m, BUDGET, false);
	return 0;
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source;
	(void)fd;
	(void)events;
	return member_finish(userdata);
}

static int member_begin_gathering(struct family_member *m)
{
	size_t length = 0;
	cleanup(freep) char *comm = member_read_proc(m, "comm", &length);
	char program[PATH_MAX];

	if (comm)
		*strchrnul(comm, '\n') = '\0';
	member_read_program(m, program);
	return gather_process_new(&m->process, m->family->gather, m->pid, comm ? comm : "",
				  program);
}

/* Takes @pidfd over. Returns 0 or negative errno: no descriptors, no memory. */
static int family_attach_member(struct family *f, pid_t pid, int pidfd, int connection)
{
	cleanup(member_freep) struct family_member *m = calloc(1, sizeof(*m));
	int r;

	if (!m) {
		close(pidfd);
		return error_origin(-ENOMEM);
	}
	m->family = f;
	m->pid = pid;
	m->pidfd = pidfd;
	m->ring = ATTACH_RING_NONE;
	r = attach_ring_init(&m->ring, RING_WORDS) ?:
	    member_begin_gathering(m) ?:
	    sd_event_add_io(f->loop, &m->on_bell, m->ring.bell, EPOLLIN, on_bell, m) ?:
	    sd_event_add_io(f->loop, &m->on_end, m->pidfd, EPOLLIN, on_end, m);
	if (r)
		return r;
	ring_reader_set_frequency(m->ring.reader, f->frequency);
	if (!attach_send(connection, &m->ring))
		return 0;
	attach_ring_close_sent(&m->ring);
	f->totals.n_attached++;
	LL_PREPEND(f->members, m);
	m = NULL;
	return 0;
}

static int family_add_member(struct family *f, pid_t pid, int pidfd, int connection)
{
	struct family_member *next;
	int r = 0;

	/* It executes another program now: the ring of the one before is whole. */
	for (struct family_member *m = f->members; m && !r; m = next) {
		next = m->next;
		r = m->pid == pid ? member_finish(m) : 0;
	}
	if (r)
		close(pidfd);
	else if (family_attach_member(f, pid, pidfd, connection))
		f->totals.n_refused++; /* of this one there are no samples */
	return r;
}

static bool family_drain_members(struct family *f)
{
	bool more = false;

	for (struct family_member *m = f->members; m; m = m->next) {
		more |= member_drain(m, BUDGET, false);
		member_read_mappings(m);
	}
	return more;
}

static int family_finish_members(struct family *f)
{
	struct pollfd pollfd = {.events = POLLIN};
	int r = 0;

	while (f->members && !r) {
		pollfd.fd = f->members->pidfd;
		f->totals.n_left += poll(&pollfd, 1, 0) == 0;
		r = member_finish(f->members);
	}
	return r;
}

/* --- connections ----------------------------------------------------------------------------- */

struct family_connection {
	struct family *family;
	struct family_connection *next;
	int fd;
	unsigned age;
	sd_event_source *on_bytes;
};

static void drop_connection(struct family_connection *c)
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
	/* It still holds its end afterwards: so the number was not given to another one. */
	pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	if (pidfd >= 0 && poll(&pollfd, 1, 0) > 0 && pollfd.revents & (POLLHUP | POLLERR)) {
		close(pidfd);
		return -1;
	}
	return pidfd;
}

static int connection_add_member(struct family_connection *c)
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
	struct family_connection *c = userdata;
	uint8_t bytes[ATTACH_REQUEST_SIZE]; /* sent at once, so they come at once */
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	int r = 0;

	(void)source;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n == sizeof(bytes) && !memcmp(bytes, attach_request, sizeof(bytes)))
		r = connection_add_member(c);
	drop_connection(c);
	return r;
}

/* Those that want a ring say so at once: it is the one that least looks like it. */
static void drop_oldest_connection(struct family *f)
{
	struct family_connection *c = f->connections;

	while (c->next)
		c = c->next;
	drop_connection(c);
}

static int family_on_connect(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct family *f = userdata;
	struct family_connection *c;
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

static void family_age_connections(struct family *f)
{
	struct family_connection *next;

	for (struct family_connection *c = f->connections; c; c = next) {
		next = c->next;
		if (++c->age > PATIENCE)
			drop_connection(c);
	}
}

/* --- the loop -------------------------------------------------------------------------------- */

static int family_on_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct family *f = userdata;
	bool more = family_drain_members(f);

	(void)now_us;
	family_age_connections(f);
	/* A little later, so that a process that writes all the time is not all that is read. */
	sd_event_source_set_time_relative(source, more ? DRAIN_NS / 20000 : DRAIN_NS / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* What a terminal sends it sends to the command as well. */
static int family_on_signal(sd_event_source *source, const struct signalfd_siginfo *info,
			    void *userdata)
{
	struct family *f = userdata;

	(void)source;
	if (info->ssi_code <= 0)
		kill(f->pid, (int)info->ssi_signo);
	return 0;
}

static int family_on_command_exit(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct family *f = userdata;

	(void)source;
	(void)fd;
	(void)events;
	/* Stopped ones do not make a pidfd readable. */
	if (waitpid(f->pid, &f->status, WNOHANG) != f->pid)
		return 0;
	return sd_event_exit(f->loop, 0);
}

static int family_watch(struct family *f, int pidfd)
{
	sigset_t signals;
	int r;

	launch_signals(&signals);
	r = sd_event_add_io(f->loop, NULL, pidfd, EPOLLIN, family_on_command_exit, f);
	if (r < 0)
		return r;
	for (int i = 1; i < NSIG && r >= 0; i++)
		if (sigismember(&signals, i) == 1)
			r = sd_event_add_signal(f->loop, NULL, i, family_on_signal, f);
	if (r >= 0)
		r = sd_event_add_time_relative(f->loop, NULL, CLOCK_MONOTONIC, DRAIN_NS / 1000,
					       1000, family_on_timer, f);
	return r < 0 ? r : 0;
}

int family_serve(struct family *f, pid_t pid, int *ret_status, struct family_totals *ret_totals)
{
	cleanup(closep) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r;

	if (pidfd < 0)
		return error_origin(-errno);
	f->pid = pid;
	r = family_watch(f, pidfd) ?: sd_event_loop(f->loop);
	if (r >= 0)
		r = family_finish_members(f);
	if (r < 0)
		return error_origin(r);
	*ret_status = f->status;
	*ret_totals = f->totals;
	return 0;
}

/* --- its beginning and its end --------------------------------------------------------------- */

int family_new(struct family **ret, struct gather *gather, uint32_t frequency)
{
	cleanup(family_freep) struct family *f = calloc(1, sizeof(*f));
	const char *below = getenv("TMPDIR");
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->listener = f->proc_fd = -1;
	f->gather = gather;
	f->frequency = frequency;
	f->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->proc_fd < 0)
		return error_origin(-errno);
	r = proc_child_new(&f->looker, 0);
	if (r)
		return r;
	if (!(below && *below == '/' && run_dir_make(&f->dir, below)) &&
	    !run_dir_make(&f->dir, "/tmp"))
		return error_origin(-errno);
	snprintf(f->socket, sizeof(f->socket), "%s/" RUN_DIR_SOCKET, f->dir.path);
	r = unixsock_listen(f->socket, 0600, (gid_t)-1, &f->listener);
	if (r)
		return r < 0 ? r : error_origin(-EACCES);
	r = sd_event_new(&f->loop);
	if (r >= 0)
		r = sd_event_add_io(f->loop, NULL, f->listener, EPOLLIN, family_on_connect, f);
	if (r < 0)
		return error_origin(r);
	*ret = steal_ptr(&f);
	return 0;
}

void family_free(struct family *f)
{
	struct family_member *m;

	if (!f)
		return;
	while (f->connections)
		drop_connection(f->connections);
	while ((m = f->members)) {
		LL_DELETE(f->members, m);
		member_free(m);
	}
	closep(&f->listener);
	closep(&f->proc_fd);
	proc_child_free(f->looker);
	sd_event_unref(f->loop);
	run_dir_remove(&f->dir);
	free(f);
}

const char *family_socket(const struct family *f)
{
	return f->socket;
}
