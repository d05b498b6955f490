/* SPDX-License-Identifier: MIT */
/*
 * The child is a keeper's servant (keeper.h): requests go to it, answers come back, and an answer
 * that nobody waits for any more is passed over.
 */
#include "daemon/resolve/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/confine.h"
#include "common/helper/fd_packet.h"
#include "daemon/resolve/held_up.h"
#include "daemon/resolve/keeper.h"

#define TIMEOUT_NS (200 * NS_PER_MS)

struct memory_reader_request {
	uint64_t id;
	uint64_t address;
	uint32_t length;
	int32_t pid;
};

struct memory_reader_answer {
	uint64_t id;
	uint8_t data[MEMORY_READ_MAX];
};

struct memory_reader_asked {
	uint64_t cookie, id; /* id 0: no answer will come */
	struct memory_read read;
};

struct memory_reader {
	struct keeper keeper;
	int epoll_fd; /* borrowed: watches the keeper's data socket */
	/* What is under way, in the order in which it was asked for and is answered. */
	struct memory_reader_asked asked[MEMORY_READS_MAX];
	unsigned n_asked;
	uint64_t newest_id;
	uint64_t since_ns; /* first tick that saw asked[0]; 0: none did */
	uint64_t now_ns;   /* the last tick's */
	struct held_up held_up;
	struct memory_reader_answer answer; /* taken last */
};

/* --- the servant, async-signal-safe ------------------------------------------------------------
 */

/* /proc/PID/mem is its owner's, to be opened by nobody else. */
#define READ_MEMORY (UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH)

static const struct confine_call calls[] = {
	CONFINE_ANY(recvmsg),
	CONFINE_ANY(sendmsg),
	CONFINE_IF(openat, CONFINE_BITS(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)),
	CONFINE_ANY(pread64),
	CONFINE_ANY(close),
	CONFINE_ANY(exit_group),
};
static const struct confine_table reader_calls = {calls, ARRAY_SIZE(calls)};

/*
 * By way of /proc/PID/mem, because waits for the lock of somebody's memory can be killed there: in
 * process_vm_readv(2) a reader that was given up may outlive profd. What is read ends at a hole.
 */
static size_t read_memory(const struct memory_reader_request *request, uint8_t *to)
{
	size_t length = request->length < MEMORY_READ_MAX ? request->length : MEMORY_READ_MAX;
	cleanup(closep) int fd = -1;
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/mem", request->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, to, length, (off_t)request->address);
	return n > 0 ? (size_t)n : 0;
}

static void memory_reader_serve(int data_fd, uint64_t first_id, void *memory)
{
	struct memory_reader_answer *answer = memory;
	struct fd_packet packet; /* nobody sends descriptors */
	struct memory_reader_request request;
	size_t length;

	for (;;) {
		if (fd_packet_receive(data_fd, &request, sizeof(request), 0, &packet) ||
		    packet.length != sizeof(request))
			return;
		if (request.id < first_id)
			continue;
		answer->id = request.id;
		length = offsetof(struct memory_reader_answer, data) +
			 read_memory(&request, answer->data);
		if (fd_packet_send(data_fd, answer, length, NULL, 0, 0))
			return;
	}
}

/* --- profd's side ------------------------------------------------------------------------------
 */

/* Its data socket is new. */
static int listen_to_keeper(struct memory_reader *m)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = m->keeper.data_fd};

	if (m->keeper.data_fd >= 0 &&
	    epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, m->keeper.data_fd, &event) < 0)
		return -errno;
	return 0;
}

int memory_reader_new(struct memory_reader **ret, int epoll_fd)
{
	cleanup(memory_reader_freep) struct memory_reader *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return error_origin(-ENOMEM);
	m->epoll_fd = epoll_fd;
	r = keeper_init(&m->keeper,
			&(struct keeper_job){
				.keeper_name = "profd-memory",
				.servant_name = "profd-reader",
				.serve = memory_reader_serve,
				.memory = &m->answer,
				.calls = &reader_calls,
				.capabilities = READ_MEMORY,
			})
		    ?: listen_to_keeper(m);
	if (r)
		return error_origin(r);
	*ret = steal_ptr(&m);
	return 0;
}

void memory_reader_free(struct memory_reader *m)
{
	if (!m)
		return;
	keeper_deinit(&m->keeper);
	free(m);
}

static void lose_keeper(struct memory_reader *m)
{
	epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, m->keeper.data_fd, NULL);
	keeper_lose(&m->keeper);
	for (unsigned i = 0; i < m->n_asked; i++)
		m->asked[i].id = 0;
}

bool memory_reader_is_busy(const struct memory_reader *m)
{
	return m->n_asked == MEMORY_READS_MAX;
}

static bool memory_reader_may_ask(const struct memory_reader *m, const struct memory_read *read)
{
	return held_up_may_ask(&m->held_up, read->process, PROC_LOCKS_ALL, read->uid, m->now_ns);
}

/* Under a new number: the child passes over those before. */
static bool memory_reader_send(struct memory_reader *m, struct memory_reader_asked *asked)
{
	const struct memory_read *read = &asked->read;
	const struct memory_reader_request request = {
		.id = ++m->newest_id,
		.address = read->address,
		.length = read->length < MEMORY_READ_MAX ? (uint32_t)read->length : MEMORY_READ_MAX,
		.pid = read->task,
	};

	asked->id = 0;
	if (send(m->keeper.data_fd, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			lose_keeper(m);
		return false;
	}
	asked->id = request.id;
	return true;
}

bool memory_reader_request(struct memory_reader *m, uint64_t cookie, const struct memory_read *read)
{
	struct memory_reader_asked asked = {.cookie = cookie, .read = *read};

	if (m->n_asked == MEMORY_READS_MAX || m->keeper.data_fd < 0 ||
	    !memory_reader_may_ask(m, read) || !memory_reader_send(m, &asked))
		return false;
	m->asked[m->n_asked++] = asked;
	return true;
}

/* The oldest of what is under way has its answer, or will have none. */
static uint64_t memory_reader_pop(struct memory_reader *m)
{
	uint64_t cookie = m->asked[0].cookie;

	m->n_asked--;
	memmove(m->asked, m->asked + 1, m->n_asked * sizeof(*m->asked));
	m->since_ns = 0;
	return cookie;
}

static bool memory_reader_has_lost(const struct memory_reader *m)
{
	return m->n_asked && !m->asked[0].id;
}

bool memory_reader_receive(struct memory_reader *m, uint64_t *ret_cookie, const uint8_t **ret_data,
			   size_t *ret_length)
{
	ssize_t r;

	while (m->keeper.data_fd >= 0 && !memory_reader_has_lost(m)) {
		r = recv(m->keeper.data_fd, &m->answer, sizeof(m->answer), MSG_DONTWAIT);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (r < (ssize_t)offsetof(struct memory_reader_answer, data)) {
			lose_keeper(m);
			break;
		}
		if (!m->n_asked || m->answer.id != m->asked[0].id)
			continue; /* of a reader that was replaced */
		held_up_note_answer(&m->held_up, m->asked[0].read.process, PROC_LOCKS_ALL);
		*ret_cookie = memory_reader_pop(m);
		*ret_data = m->answer.data;
		*ret_length = (size_t)r - offsetof(struct memory_reader_answer, data);
		return true;
	}
	if (!memory_reader_has_lost(m))
		return false;
	*ret_cookie = memory_reader_pop(m);
	*ret_data = m->answer.data;
	*ret_length = 0;
	return true;
}

/* The child is stuck with the oldest of what is under way. */
static void memory_reader_replace(struct memory_reader *m)
{
	const struct memory_read *stuck = &m->asked[0].read;

	held_up_note_wait(&m->held_up, stuck->process, PROC_LOCKS_ALL, stuck->uid, m->now_ns);
	m->asked[0].id = 0;
	if (!keeper_replace(&m->keeper, m->newest_id + 1)) {
		lose_keeper(m);
		return;
	}
	for (unsigned i = 1; i < m->n_asked; i++) {
		m->asked[i].id = 0;
		if (m->keeper.data_fd >= 0 && memory_reader_may_ask(m, &m->asked[i].read))
			memory_reader_send(m, &m->asked[i]);
	}
}

void memory_reader_tick(struct memory_reader *m, uint64_t now_ns)
{
	struct pollfd answers = {.fd = m->keeper.data_fd, .events = POLLIN};

	m->now_ns = now_ns;
	if (m->keeper.data_fd < 0) {
		/* If it fails now, it is tried again; requests are refused until it works. */
		keeper_refork(&m->keeper, now_ns);
		if (listen_to_keeper(m) < 0)
			keeper_lose(&m->keeper);
		return;
	}
	if (!m->n_asked) {
		held_up_forget(&m->held_up, now_ns);
		return;
	}
	if (!m->since_ns)
		m->since_ns = now_ns;
	if (now_ns - m->since_ns <= TIMEOUT_NS || poll(&answers, 1, 0) != 0)
		return;
	held_up_forget(&m->held_up, now_ns);
	memory_reader_replace(m);
}

pid_t memory_reader_keeper(const struct memory_reader *m)
{
	return m->keeper.pid;
}
