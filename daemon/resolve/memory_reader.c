/* SPDX-License-Identifier: MIT */
/*
 * Two children:
 *
 *   keeper   forked once, while profd is small and has no threads; forks readers. Waits on the
 *            control socket: a message asks for another reader in place of the one it has, the
 *            socket's end for its own.
 *   reader   takes requests from the data socket, one after the other, and answers them.
 *
 * All readers use the same data socket, one after the other. A reader that was killed while it is
 * stuck in a read ends before it would do anything else, whenever that is. Its successor passes
 * over the requests that were given up with it (their numbers are below the control message's), and
 * an answer that nobody waits for any more is passed over by profd. So is replacing a child never a
 * matter of waiting: not for its end, and not for a fork of the grown profd.
 *
 * Only if the keeper is lost (somebody killed it) does profd fork again. By then it may have
 * threads: the children call nothing but async-signal-safe functions.
 */
#include "daemon/resolve/memory_reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "common/error.h"

#define TIMEOUT_NS UINT64_C(200000000)
#define REFORK_NS  UINT64_C(1000000000) /* between two attempts after a loss */
#define FREE_MS    200
#define PAGE       4096u
/* process_vm_readv(2) may read an iovec whole or not at all: one a page. */
#define PIECES (MEMORY_READ_MAX / PAGE + 1)

struct request {
	uint64_t id;
	uint64_t address;
	uint32_t length;
	int32_t pid;
};

struct answer {
	uint64_t id;
	uint8_t data[MEMORY_READ_MAX];
};

enum pending_state {
	PENDING_FREE,
	PENDING_ASKED,
	PENDING_LOST, /* to be answered with nothing */
};

struct pending {
	enum pending_state state;
	uint64_t id, cookie;
	uint64_t since_ns; /* first tick that saw it; 0: none did */
};

struct memory_reader {
	int epoll_fd;   /* over the next two */
	int data_fd;    /* -1: the keeper is lost */
	int lost_fd;    /* eventfd: readable while there are lost requests */
	int control_fd; /* -1: the keeper is lost */
	pid_t keeper;
	uint64_t lost_ns; /* last attempt to replace the keeper; 0: none yet */
	uint64_t next_id;
	struct pending pending[MEMORY_READS_MAX];
	struct answer answer; /* taken last */
};

/* --- the children ------------------------------------------------------------------------------
 */

/* From here to the end of this part: async-signal-safe, and no way back into profd. */

static void close_all_but(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	if (low > 0)
		close_range(0, (unsigned)low - 1, 0);
	if (high - low > 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0u, 0);
}

/* Ends with @parent, which may have ended already. */
static void die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
}

static size_t read_memory(const struct request *request, uint8_t *to)
{
	size_t left = request->length < MEMORY_READ_MAX ? request->length : MEMORY_READ_MAX;
	struct iovec local = {.iov_base = to, .iov_len = left}, remote[PIECES];
	uint64_t at = request->address;
	unsigned long n = 0;
	ssize_t r;

	while (left > 0 && n < PIECES) {
		size_t length = PAGE - (at & (PAGE - 1));

		if (length > left)
			length = left;
		remote[n++] = (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = length};
		at += length;
		left -= length;
	}
	r = process_vm_readv(request->pid, &local, 1, remote, n, 0);
	return r > 0 ? (size_t)r : 0;
}

static _Noreturn void run_reader(int data_fd, uint64_t first_id, struct answer *answer)
{
	struct request request;
	ssize_t r;

	for (;;) {
		r = recv(data_fd, &request, sizeof(request), 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r != (ssize_t)sizeof(request))
			_exit(0);
		if (request.id < first_id)
			continue;
		answer->id = request.id;
		r = (ssize_t)(offsetof(struct answer, data) + read_memory(&request, answer->data));
		while (send(data_fd, answer, (size_t)r, MSG_NOSIGNAL) < 0)
			if (errno != EINTR)
				_exit(0);
	}
}

static pid_t fork_reader(int data_fd, uint64_t first_id, struct answer *answer)
{
	pid_t keeper = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_NAME, "profd-reader");
	die_with(keeper);
	close_all_but(data_fd, data_fd);
	run_reader(data_fd, first_id, answer);
}

/*
 * A reader is reaped only right after it was killed: until then its number is its own. One that
 * does not end at once is reaped with its successor.
 */
static void end_reader(pid_t pid)
{
	if (pid > 0)
		kill(pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static _Noreturn void run_keeper(int data_fd, int control_fd, struct answer *answer)
{
	pid_t reader = fork_reader(data_fd, 0, answer);
	uint64_t first_id;
	ssize_t r;

	for (;;) {
		r = recv(control_fd, &first_id, sizeof(first_id), 0);
		if (r < 0 && errno == EINTR)
			continue;
		end_reader(reader);
		if (r != (ssize_t)sizeof(first_id))
			_exit(0);
		reader = fork_reader(data_fd, first_id, answer);
	}
}

/* --- profd's side ------------------------------------------------------------------------------
 */

/* Returns 0 or negative errno, not marked: not fatal for all callers. */
static int fork_keeper(struct memory_reader *m)
{
	int data[2] = {-1, -1}, control[2] = {-1, -1}, r = 0;
	struct epoll_event event = {.events = EPOLLIN};
	pid_t parent = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, data) < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 ||
	    epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, data[0], &event) < 0)
		r = -errno;
	pid = r ? -1 : fork();
	if (!r && pid < 0)
		r = -errno;
	if (pid == 0) {
		prctl(PR_SET_NAME, "profd-memory");
		signal(SIGCHLD, SIG_DFL);
		die_with(parent);
		close_all_but(data[1], control[1]);
		run_keeper(data[1], control[1], &m->answer);
	}
	closep(&data[1]);
	closep(&control[1]);
	if (r) {
		closep(&data[0]);
		closep(&control[0]);
		return r;
	}
	m->data_fd = data[0];
	m->control_fd = control[0];
	m->keeper = pid;
	return 0;
}

int memory_reader_new(struct memory_reader **ret)
{
	cleanup(memory_reader_freep) struct memory_reader *m = calloc(1, sizeof(*m));
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	if (!m)
		return error_origin(-ENOMEM);
	m->epoll_fd = m->data_fd = m->lost_fd = m->control_fd = -1;
	m->next_id = 1;
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	m->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->epoll_fd < 0 || m->lost_fd < 0 ||
	    epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, m->lost_fd, &event) < 0)
		return error_origin(-errno);
	r = fork_keeper(m);
	if (r)
		return error_origin(r);
	*ret = steal_ptr(&m);
	return 0;
}

/* The keeper, whose sockets are closed, ends by itself; if not, it is made to. */
static void await_keeper(pid_t keeper)
{
	struct pollfd ended = {.fd = pidfd_open(keeper, 0), .events = POLLIN};

	if (ended.fd < 0 || poll(&ended, 1, FREE_MS) != 1)
		kill(keeper, SIGKILL);
	closep(&ended.fd);
	while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
		;
}

void memory_reader_free(struct memory_reader *m)
{
	if (!m)
		return;
	/* Said aloud: others may have been forked, and hold copies. */
	if (m->control_fd >= 0)
		shutdown(m->control_fd, SHUT_RDWR);
	closep(&m->control_fd);
	closep(&m->data_fd);
	closep(&m->lost_fd);
	closep(&m->epoll_fd);
	if (m->keeper > 0)
		await_keeper(m->keeper);
	free(m);
}

int memory_reader_fd(const struct memory_reader *m)
{
	return m->epoll_fd;
}

/* What is under way is answered with nothing. */
static void lose_all(struct memory_reader *m)
{
	bool any = false;

	for (unsigned i = 0; i < MEMORY_READS_MAX; i++) {
		if (m->pending[i].state != PENDING_ASKED)
			continue;
		m->pending[i].state = PENDING_LOST;
		any = true;
	}
	if (any)
		eventfd_write(m->lost_fd, 1);
}

/* The keeper has ended, or something is wrong with its sockets, which comes to the same. */
static void lose_keeper(struct memory_reader *m)
{
	epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, m->data_fd, NULL);
	closep(&m->data_fd);
	closep(&m->control_fd);
	m->data_fd = m->control_fd = -1;
	lose_all(m);
}

static struct pending *find_pending(struct memory_reader *m, enum pending_state state, uint64_t id)
{
	for (unsigned i = 0; i < MEMORY_READS_MAX; i++)
		if (m->pending[i].state == state &&
		    (state != PENDING_ASKED || m->pending[i].id == id))
			return &m->pending[i];
	return NULL;
}

int memory_reader_request(struct memory_reader *m, uint64_t cookie, pid_t pid, uint64_t address,
			  size_t length)
{
	const struct request request = {
		.id = m->next_id,
		.address = address,
		.length = length < MEMORY_READ_MAX ? (uint32_t)length : MEMORY_READ_MAX,
		.pid = pid,
	};
	struct pending *pending = find_pending(m, PENDING_FREE, 0);

	if (!pending || m->data_fd < 0)
		return MEMORY_READER_E_BUSY;
	if (send(m->data_fd, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			lose_keeper(m);
		return MEMORY_READER_E_BUSY;
	}
	*pending = (struct pending){
		.state = PENDING_ASKED,
		.id = m->next_id++,
		.cookie = cookie,
	};
	return MEMORY_READER_E_OK;
}

static bool take_lost(struct memory_reader *m, uint64_t *ret_cookie)
{
	struct pending *pending = find_pending(m, PENDING_LOST, 0);
	eventfd_t n;

	if (!pending)
		return false;
	pending->state = PENDING_FREE;
	*ret_cookie = pending->cookie;
	if (!find_pending(m, PENDING_LOST, 0))
		eventfd_read(m->lost_fd, &n);
	return true;
}

bool memory_reader_take(struct memory_reader *m, uint64_t *ret_cookie, const uint8_t **ret_data,
			size_t *ret_length)
{
	struct pending *pending;
	ssize_t r;

	while (m->data_fd >= 0) {
		r = recv(m->data_fd, &m->answer, sizeof(m->answer), MSG_DONTWAIT);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (r < (ssize_t)offsetof(struct answer, data)) {
			lose_keeper(m);
			break;
		}
		pending = find_pending(m, PENDING_ASKED, m->answer.id);
		if (!pending)
			continue;
		pending->state = PENDING_FREE;
		*ret_cookie = pending->cookie;
		*ret_data = m->answer.data;
		*ret_length = (size_t)r - offsetof(struct answer, data);
		return true;
	}
	if (!take_lost(m, ret_cookie))
		return false;
	*ret_data = m->answer.data;
	*ret_length = 0;
	return true;
}

/* Without a keeper: tries to have one again, from time to time. */
static void refork(struct memory_reader *m, uint64_t now_ns)
{
	if (m->keeper > 0) {
		kill(m->keeper, SIGKILL);
		if (waitpid(m->keeper, NULL, WNOHANG) == 0)
			return;
		m->keeper = 0;
	}
	if (m->lost_ns && now_ns - m->lost_ns < REFORK_NS)
		return;
	m->lost_ns = now_ns;
	/* If it fails now, it is tried again; requests are refused until it works. */
	fork_keeper(m);
}

static bool is_overdue(struct memory_reader *m, uint64_t now_ns)
{
	bool overdue = false;

	for (unsigned i = 0; i < MEMORY_READS_MAX; i++) {
		struct pending *pending = &m->pending[i];

		if (pending->state != PENDING_ASKED)
			continue;
		if (!pending->since_ns)
			pending->since_ns = now_ns;
		overdue |= now_ns - pending->since_ns > TIMEOUT_NS;
	}
	return overdue;
}

void memory_reader_tick(struct memory_reader *m, uint64_t now_ns)
{
	struct pollfd answers = {.fd = m->data_fd, .events = POLLIN};

	if (m->data_fd < 0) {
		refork(m, now_ns);
		return;
	}
	if (!is_overdue(m, now_ns) || poll(&answers, 1, 0) != 0)
		return;
	lose_all(m);
	if (send(m->control_fd, &m->next_id, sizeof(m->next_id), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		lose_keeper(m);
}
