/* SPDX-License-Identifier: MIT */
#include "client/run/family.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "common/error.h"
#include "common/shim/attach.h"
#include "common/unixsock.h"

#define RING_WORDS      (1u << 17) /* 1 MiB; pages that are never used cost nothing */
#define DRAIN_NS        UINT64_C(100000000)
#define BUDGET          ((size_t)RING_WORDS / 4)
#define CONNECTIONS_MAX 512
/* Drains that a connection may take to say what it wants. */
#define PATIENCE 20

/* Linux 6.5; older ones refuse it. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

struct member {
	struct family *family;
	struct member *next;
	int pid, pidfd;
	struct attach_ring ring;
	struct ring_reader *reader;
	struct gather_process *process;
	sd_event_source *on_bell, *on_end;
	bool is_broken;
};

struct connection {
	struct family *family;
	struct connection *next;
	int fd;
	unsigned age;
	size_t n;
	uint8_t bytes[ATTACH_REQUEST_SIZE];
	sd_event_source *on_bytes;
};

struct family {
	struct gather *gather;
	uint32_t frequency;
	char folder[64], socket[96];
	sd_event *loop;
	int listener;
	struct member *members;
	struct connection *connections;
	size_t n_connections;
	pid_t pid;
	int status;
	struct family_totals totals;
};

/* --- members ------------------------------------------------------------------------------ */

static void member_free(struct member *m)
{
	if (!m)
		return;
	sd_event_source_disable_unref(m->on_bell);
	sd_event_source_disable_unref(m->on_end);
	ring_reader_free(m->reader);
	attach_ring_deinit(&m->ring);
	gather_process_free(m->process);
	closep(&m->pidfd);
	free(m);
}
DEFINE_CLEANUP(struct member *, member_free)

/* True: there may be more. */
static bool drain(struct member *m, size_t budget, bool is_last)
{
	const struct ring_sink sink = {gather_sample, gather_maps, m->process};
	int r;

	if (m->is_broken)
		return false;
	r = ring_reader_drain(m->reader, budget, is_last, &sink);
	if (r == RING_READER_E_BROKEN) {
		m->is_broken = true;
		m->family->totals.n_broken++;
		ring_reader_set_frequency(m->reader, 0);
	}
	return r == RING_READER_E_MORE;
}

/* All of a file below /proc, malloc'ed; NULL: it is not there, or too long to be read. */
static char *read_all(const char *path, size_t *ret_length)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup(freep) char *text = fd < 0 ? NULL : malloc(RING_MAPS_MAX);
	size_t length = 0;
	ssize_t n = 0;

	while (text && length < RING_MAPS_MAX &&
	       (n = read(fd, text + length, RING_MAPS_MAX - length)) > 0)
		length += (size_t)n;
	if (!text || n || !length)
		return NULL;
	*ret_length = length;
	return steal_ptr(&text);
}

/* The mappings are the ring's program's as long as that has its end of the bell. */
static void look_at_mappings(struct member *m)
{
	cleanup(freep) char *text = NULL;
	char path[64], byte;
	size_t length;

	if (!gather_wants_look(m->process))
		return;
	snprintf(path, sizeof(path), "/proc/%d/maps", m->pid);
	text = read_all(path, &length);
	if (text && recv(m->ring.bell, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		gather_look(m->process, text, length);
}

/* Nothing more comes, or is to come. Frees it. */
static int finish(struct member *m)
{
	struct family *f = m->family;
	struct member **at = &f->members;
	struct ring_ledger ledger;
	int r;

	ring_reader_set_frequency(m->reader, 0);
	/* Not for ever: somebody else may have the memory. */
	drain(m, 2 * (size_t)RING_WORDS, true);
	ring_reader_ledger(m->reader, &ledger);
	r = gather_finish(m->process, &ledger);
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	member_free(m);
	return r;
}

static int on_bell(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct member *m = userdata;
	char bytes[256];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

	(void)events;
	/* The other end is closed, which says nothing yet: it may execute another program. */
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	drain(m, BUDGET, false);
	return 0;
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source;
	(void)fd;
	(void)events;
	return finish(userdata);
}

/* The text of a file below /proc, to its first newline; "" if there is none. */
static void read_proc(int pid, const char *name, char *ret, size_t size)
{
	cleanup(closep) int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, size - 1);
	ret[n < 0 ? 0 : n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

static int begin_gathering(struct member *m)
{
	char comm[RING_COMM], path[64], program[4096];
	ssize_t n;

	read_proc(m->pid, "comm", comm, sizeof(comm));
	snprintf(path, sizeof(path), "/proc/%d/exe", m->pid);
	n = readlink(path, program, sizeof(program) - 1);
	program[n < 0 ? 0 : n] = '\0';
	return gather_process_new(&m->process, m->family->gather, m->pid, comm, program);
}

/* Takes @pidfd over. Returns 0 or negative errno. */
static int add_member(struct family *f, int pid, int pidfd, int connection)
{
	cleanup(member_freep) struct member *m = calloc(1, sizeof(*m));
	int r;

	if (!m) {
		close(pidfd);
		return error_origin(-ENOMEM);
	}
	m->family = f;
	m->pid = pid;
	m->pidfd = pidfd;
	m->ring = ATTACH_RING_NONE;
	r = attach_ring_init(&m->ring, RING_WORDS);
	if (!r)
		r = ring_reader_new(&m->reader, m->ring.memory, m->ring.length);
	if (!r)
		r = begin_gathering(m);
	if (!r)
		r = sd_event_add_io(f->loop, &m->on_bell, m->ring.bell, EPOLLIN, on_bell, m);
	if (!r)
		r = sd_event_add_io(f->loop, &m->on_end, m->pidfd, EPOLLIN, on_end, m);
	if (r)
		return r;
	ring_reader_set_frequency(m->reader, f->frequency);
	if (!attach_send(connection, &m->ring))
		return 0;
	attach_ring_close_sent(&m->ring);
	f->totals.n_attached++;
	m->next = f->members;
	f->members = steal_ptr(&m);
	return 0;
}

/* --- connections -------------------------------------------------------------------------- */

static void drop_connection(struct connection *c)
{
	struct connection **at = &c->family->connections;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
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

static int attach(struct connection *c)
{
	struct family *f = c->family;
	struct member *m, *next;
	pid_t pid;
	int pidfd = open_peer(c->fd, &pid), r;

	if (pidfd < 0) {
		f->totals.n_refused++;
		return 0;
	}
	/* It executes another program now: the ring of the one before is whole. */
	for (m = f->members; m; m = next) {
		next = m->next;
		r = m->pid == pid ? finish(m) : 0;
		if (r) {
			close(pidfd);
			return r;
		}
	}
	r = add_member(f, pid, pidfd, c->fd);
	if (!r)
		return 0;
	/* No descriptors, no memory: of this one there are no samples. */
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
		r = attach(c);
	drop_connection(c);
	return r;
}

/* Those that want a ring say so at once: it is the one that least looks like it. */
static void drop_oldest(struct family *f)
{
	struct connection *c = f->connections;

	while (c->next)
		c = c->next;
	drop_connection(c);
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct family *f = userdata;
	struct connection *c;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source;
	(void)events;
	if (peer < 0)
		return 0;
	if (f->n_connections == CONNECTIONS_MAX)
		drop_oldest(f);
	c = calloc(1, sizeof(*c));
	if (!c || sd_event_add_io(f->loop, &c->on_bytes, peer, EPOLLIN, on_bytes, c) < 0) {
		f->totals.n_refused++;
		close(peer);
		free(c);
		return 0;
	}
	c->family = f;
	c->fd = peer;
	c->next = f->connections;
	f->connections = c;
	f->n_connections++;
	return 0;
}

/* --- the loop ----------------------------------------------------------------------------- */

static int on_time(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct family *f = userdata;
	struct connection *next;
	bool more = false;

	(void)now_us;
	for (struct member *m = f->members; m; m = m->next) {
		more |= drain(m, BUDGET, false);
		look_at_mappings(m);
	}
	for (struct connection *c = f->connections; c; c = next) {
		next = c->next;
		if (++c->age > PATIENCE)
			drop_connection(c);
	}
	/* A little later, so that whoever writes all the time is not all that is read. */
	sd_event_source_set_time_relative(source, more ? DRAIN_NS / 20000 : DRAIN_NS / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void family_signals(sigset_t *ret)
{
	static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(ret, numbers[i]);
}

/* What a terminal sends it sends to the command as well. */
static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct family *f = userdata;

	(void)source;
	if (info->ssi_code <= 0)
		kill(f->pid, (int)info->ssi_signo);
	return 0;
}

static int on_command(sd_event_source *source, int fd, uint32_t events, void *userdata)
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

static int watch(struct family *f, int pidfd)
{
	sigset_t signals;
	int r;

	family_signals(&signals);
	r = sd_event_add_io(f->loop, NULL, pidfd, EPOLLIN, on_command, f);
	if (r < 0)
		return r;
	for (int i = 1; i < NSIG && r >= 0; i++)
		if (sigismember(&signals, i) == 1)
			r = sd_event_add_signal(f->loop, NULL, i, on_signal, f);
	if (r >= 0)
		r = sd_event_add_time_relative(f->loop, NULL, CLOCK_MONOTONIC, DRAIN_NS / 1000,
					       1000, on_time, f);
	return r < 0 ? r : 0;
}

int family_serve(struct family *f, pid_t pid, int *ret_status)
{
	cleanup(closep) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd pollfd = {.events = POLLIN};
	int r;

	if (pidfd < 0)
		return error_origin(-errno);
	f->pid = pid;
	r = watch(f, pidfd);
	if (!r)
		r = sd_event_loop(f->loop);
	while (f->members && r >= 0) {
		pollfd.fd = f->members->pidfd;
		f->totals.n_left += poll(&pollfd, 1, 0) == 0;
		r = finish(f->members);
	}
	if (r < 0)
		return error_origin(r);
	*ret_status = f->status;
	return 0;
}

/* --- its beginning and its end ------------------------------------------------------------ */

static bool make_folder(struct family *f, const char *below)
{
	int n = snprintf(f->folder, sizeof(f->folder), "%s/profd-run-XXXXXX", below);

	if (n < (int)sizeof(f->folder) && mkdtemp(f->folder))
		return true;
	f->folder[0] = '\0';
	return false;
}

int family_new(struct family **ret, struct gather *gather, uint32_t frequency)
{
	cleanup(family_freep) struct family *f = calloc(1, sizeof(*f));
	const char *below = getenv("TMPDIR");
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->listener = -1;
	f->gather = gather;
	f->frequency = frequency;
	/* 0700, as mkdtemp(3) makes it. */
	if (!(below && *below == '/' && make_folder(f, below)) && !make_folder(f, "/tmp"))
		return error_origin(-errno);
	snprintf(f->socket, sizeof(f->socket), "%s/socket", f->folder);
	r = unixsock_listen(f->socket, 0600, (gid_t)-1, &f->listener);
	if (r)
		return r < 0 ? r : error_origin(-EACCES);
	r = sd_event_new(&f->loop);
	if (r >= 0)
		r = sd_event_add_io(f->loop, NULL, f->listener, EPOLLIN, on_connect, f);
	if (r < 0)
		return error_origin(r);
	*ret = steal_ptr(&f);
	return 0;
}

void family_free(struct family *f)
{
	struct member *next;

	if (!f)
		return;
	while (f->connections)
		drop_connection(f->connections);
	for (struct member *m = f->members; m; m = next) {
		next = m->next;
		member_free(m);
	}
	closep(&f->listener);
	sd_event_unref(f->loop);
	if (*f->socket)
		unlink(f->socket);
	if (*f->folder)
		rmdir(f->folder);
	free(f);
}

const char *family_socket(const struct family *f)
{
	return f->socket;
}

void family_get_totals(const struct family *f, struct family_totals *ret)
{
	*ret = f->totals;
}
