/* SPDX-License-Identifier: MIT */
/*
 * A member is one program of a process with its ring, from attaching until the process ends or
 * attaches again, as it does after execve(2). Then the rest of the ring is read, and its samples
 * are added to the profile.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "client/run/family_private.h"
#include "common/error.h"
#include "common/read_end.h"
#include "common/shim/attach.h"

#define RING_WORDS (1u << 17) /* 1 MiB; pages that are never used cost nothing */
#define BUDGET     ((size_t)RING_WORDS / 4)

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
static bool member_drain(struct member *m, size_t budget, bool is_last)
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

/* All of a file of the process below /proc, malloc'ed; NULL: it is not there, empty or too long. */
static char *member_read_proc(const struct member *m, const char *name, size_t *ret_length)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%d/%s", m->pid, name);
	if (read_end_text(AT_FDCWD, path, RING_MAPS_MAX, &text, ret_length))
		return NULL;
	if (*ret_length)
		return text;
	free(text);
	return NULL;
}

/* The mappings are the ring's program's as long as that has its end of the bell. */
static void member_read_mappings(struct member *m)
{
	cleanup(freep) char *text = NULL;
	size_t length;
	char byte;

	if (!gather_wants_maps(m->process))
		return;
	text = member_read_proc(m, "maps", &length);
	if (text && recv(m->ring.bell, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		gather_update_maps(m->process, text, length);
}

/* Nothing more comes, or is to come. Frees it. */
static int member_finish(struct member *m)
{
	struct family *f = m->family;
	struct ring_ledger ledger;
	int r;

	ring_reader_set_frequency(m->reader, 0);
	/* Not for ever: somebody else may have the memory. */
	member_drain(m, 2 * (size_t)RING_WORDS, true);
	ring_reader_ledger(m->reader, &ledger);
	r = gather_finish(m->process, &ledger);
	LL_DELETE(f->members, m);
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

static int member_begin_gathering(struct member *m)
{
	size_t length = 0;
	cleanup(freep) char *comm = member_read_proc(m, "comm", &length);
	char path[64], program[4096];
	ssize_t n;

	if (comm)
		*strchrnul(comm, '\n') = '\0';
	snprintf(path, sizeof(path), "/proc/%d/exe", m->pid);
	n = readlink(path, program, sizeof(program) - 1);
	program[n < 0 ? 0 : n] = '\0';
	return gather_process_new(&m->process, m->family->gather, m->pid, comm ? comm : "",
				  program);
}

/* Takes @pidfd over. Returns 0 or negative errno: no descriptors, no memory. */
static int family_attach_member(struct family *f, pid_t pid, int pidfd, int connection)
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
	r = attach_ring_init(&m->ring, RING_WORDS) ?:
	    ring_reader_new(&m->reader, m->ring.memory, m->ring.length) ?:
	    member_begin_gathering(m) ?:
	    sd_event_add_io(f->loop, &m->on_bell, m->ring.bell, EPOLLIN, on_bell, m) ?:
	    sd_event_add_io(f->loop, &m->on_end, m->pidfd, EPOLLIN, on_end, m);
	if (r)
		return r;
	ring_reader_set_frequency(m->reader, f->frequency);
	if (!attach_send(connection, &m->ring))
		return 0;
	attach_ring_close_sent(&m->ring);
	f->totals.n_attached++;
	LL_PREPEND(f->members, m);
	m = NULL;
	return 0;
}

int family_add_member(struct family *f, pid_t pid, int pidfd, int connection)
{
	struct member *next;
	int r = 0;

	/* It executes another program now: the ring of the one before is whole. */
	for (struct member *m = f->members; m && !r; m = next) {
		next = m->next;
		r = m->pid == pid ? member_finish(m) : 0;
	}
	if (r)
		close(pidfd);
	else if (family_attach_member(f, pid, pidfd, connection))
		f->totals.n_refused++; /* of this one there are no samples */
	return r;
}

bool family_drain_members(struct family *f)
{
	bool more = false;

	for (struct member *m = f->members; m; m = m->next) {
		more |= member_drain(m, BUDGET, false);
		member_read_mappings(m);
	}
	return more;
}

int family_finish_members(struct family *f)
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

void family_drop_members(struct family *f)
{
	struct member *m;

	while ((m = f->members)) {
		LL_DELETE(f->members, m);
		member_free(m);
	}
}
