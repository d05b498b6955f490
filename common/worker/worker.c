/* SPDX-License-Identifier: MIT */
/*
 * A worker is started by the first request and stays. What it may do is narrow: say that it came
 * up, once; answer what was asked, once. Everything else, an end included, comes to the same: it
 * is killed, waited for and replaced when its rest is over (worker_retire()).
 *
 * Everything that can happen is readable on the epoll fd: the socket (answers, and its end), the
 * pidfd (the end, where another process holds the socket) and the timer (the deadline).
 */
#include "common/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/child.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/proc.h"
#include "common/program_path.h"
#include "common/read_end.h"
#include "common/text_print.h"
#include "common/worker/memory.h"
#include "common/worker/protocol.h"

#define PROGRAM "profd-image-worker"

_Static_assert(WORKER_SOCKET_FD == CHILD_FIRST_FD && WORKER_LEASH_FD == CHILD_FIRST_FD + 1 &&
		       WORKER_ANSWER_FD == CHILD_FIRST_FD + 2,
	       "descriptors of the worker");

#define DEADLINE_NS  (10 * NS_PER_S)
#define REST_MIN_NS  (100 * NS_PER_MS)
#define REST_MAX_NS  (30 * NS_PER_S)
#define MEMORY_BYTES (UINT64_C(1) << 30)
#define KEEP_SHARE   4

/* For how long, at most, an answer waits for room, and how often it looks whether there is. */
#define ROOM_NS      (3 * NS_PER_S / 2)
#define ROOM_STEP_US 10000

/* A killed process mostly ends within one; freeing its memory takes some. */
#define END_MS      20
#define END_FREE_MS 200

/* Times the deadline: for how long more an answer may take whose worker gets no CPU. */
#define STARVED_MOST 9

struct worker {
	char *path, *name;
	uint64_t memory_bytes, keep_bytes, deadline_ns;
	struct memory_budget *budget;
	unsigned number;
	uint64_t started_bytes; /* what this process may ever have */
	uint64_t allowed_bytes; /* for the newest request */
	int epoll_fd, timer_fd;
	struct child child;
	int socket;    /* our end; -1: it was killed, or there is none */
	int leash;     /* our end */
	int answers;   /* this process's memfd: all that it can make somebody else keep */
	bool came_up;  /* this process said so */
	bool answered; /* this process did */
	bool owes;
	bool is_unread; /* it ended before it took the newest request */
	uint64_t id;    /* of the newest request */
	uint64_t asked_ns, until_ns;
	uint64_t starved_ns; /* when it was asked */
	unsigned n_futile;   /* deaths without an answer, in a row */
	uint64_t rests_until_ns;
	uint8_t *data;
	struct worker_stats stats;
};

static int worker_watch_fd(struct worker *w, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* 0: never. */
static void worker_set_timer(struct worker *w, uint64_t at_ns)
{
	const struct itimerspec at = {.it_value = clock_timespec(at_ns)};

	timerfd_settime(w->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

int worker_new(struct worker **ret, const struct worker_options *options)
{
	cleanup(worker_freep) struct worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_origin(-ENOMEM);
	w->epoll_fd = w->timer_fd = -1;
	w->child = CHILD_NONE;
	w->socket = w->leash = w->answers = -1;
	w->memory_bytes = options->memory_bytes ? options->memory_bytes : MEMORY_BYTES;
	w->budget = options->budget;
	w->number = options->number;
	w->keep_bytes = options->keep_bytes ? options->keep_bytes : w->memory_bytes / KEEP_SHARE;
	w->deadline_ns = options->deadline_ns ? options->deadline_ns : DEADLINE_NS;
	r = text_copy(&w->name, options->name ? options->name : "")
		    ?: (options->path ? text_copy(&w->path, options->path)
				      : program_path("PROFD_IMAGE_WORKER", PROGRAM, &w->path));
	if (r)
		return r;
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll_fd < 0)
		return error_origin(-errno);
	w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->timer_fd < 0)
		return error_origin(-errno);
	r = worker_watch_fd(w, w->timer_fd);
	if (r)
		return error_origin(r);
	*ret = steal_ptr(&w);
	return 0;
}

/* What it was allowed for a request, another may have now. */
static void worker_release_memory(struct worker *w)
{
	if (w->budget)
		memory_budget_end(w->budget, w->number);
}

/*
 * Other processes may hold copies of the fds: what is only closed would stay in the epoll. kill(2)
 * is refused where we are uid 0 without CAP_KILL and the worker has become nobody; the leash is not
 * (protocol.h). One of them reaches it in each moment of its life. It is still to be reaped.
 */
static void worker_kill(struct worker *w)
{
	worker_release_memory(w);
	if (w->socket < 0)
		return;
	epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, w->socket, NULL);
	if (w->child.pidfd >= 0)
		epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, w->child.pidfd, NULL);
	worker_set_timer(w, 0);
	kill(w->child.pid, SIGKILL);
	(void)!send(w->leash, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(steal_fd(&w->leash));
	close(steal_fd(&w->answers));
	close(steal_fd(&w->socket));
}

void worker_free(struct worker *w)
{
	int status;

	if (!w)
		return;
	worker_kill(w);
	child_reap(&w->child, END_FREE_MS, &status);
	closep(&w->child.pidfd);
	closep(&w->timer_fd);
	closep(&w->epoll_fd);
	free(w->data);
	free(w->path);
	free(w->name);
	free(w);
}

struct worker_request worker_request_of(enum worker_kind kind, int image)
{
	struct worker_request request = {.kind = kind};

	for (size_t i = 0; i < ARRAY_SIZE(request.files); i++)
		request.files[i] = -1;
	request.files[WORKER_FILE_IMAGE] = image;
	return request;
}

static void worker_describe_end(struct worker *w, int status)
{
	char *why = w->stats.why;
	size_t size = sizeof(w->stats.why);

	if (WIFSIGNALED(status))
		snprintf(why, size, "killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == WORKER_EXIT_SANDBOX)
		snprintf(why, size, "cannot enter its sandbox");
	else
		snprintf(why, size, "exited with status %d", WEXITSTATUS(status));
}

static void worker_back_off(struct worker *w)
{
	uint64_t rest_ns = REST_MIN_NS;

	for (unsigned i = 1; i < w->n_futile && rest_ns < REST_MAX_NS; i++)
		rest_ns *= 2;
	if (rest_ns > REST_MAX_NS)
		rest_ns = REST_MAX_NS;
	w->rests_until_ns = clock_ns(CLOCK_MONOTONIC) + rest_ns;
}

/* As child_reap(); what it had used is kept. */
static bool worker_reap(struct worker *w, int timeout_ms, int *ret_status)
{
	uint64_t used_ns = 0;

	(void)clock_process_ns(w->child.pid, &used_ns);
	if (!child_reap(&w->child, timeout_ms, ret_status))
		return false;
	w->stats.used_ns += used_ns;
	return true;
}

/* It died, or has to: @why, or NULL: its end tells. */
static void worker_retire(struct worker *w, const char *why)
{
	int status = 0;

	worker_kill(w);
	w->stats.died++;
	w->owes = false;
	if (!w->answered || w->is_unread) {
		w->n_futile++;
		worker_back_off(w);
	}
	if (!worker_reap(w, END_MS, &status) && !why)
		why = "does not end";
	if (why)
		snprintf(w->stats.why, sizeof(w->stats.why), "%s", why);
	else
		worker_describe_end(w, status);
}

/*
 * Without LANG and its like no locale is loaded, without LD_* no strangers' library. The
 * sanitizers' options are for builds that have them.
 */
static const char *const kept[] = {"ASAN_OPTIONS=", "UBSAN_OPTIONS="};

/* Returns 0 or negative errno, which is the program's, not fatal. */
static int worker_start_process(struct worker *w)
{
	static const int types[] = {SOCK_SEQPACKET, SOCK_STREAM};
	cleanup(freep) char **environment = NULL;
	char title[64], memory[32], keep[32];
	char *const argv[] = {title, memory, keep, NULL};
	cleanup(closep) int answers = memory_file_new("profd-answers");
	int sockets[ARRAY_SIZE(types)], r;

	if (answers < 0)
		return answers;
	snprintf(title, sizeof(title), PROGRAM ": %s", w->name);
	w->started_bytes = w->allowed_bytes;
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)w->started_bytes);
	snprintf(keep, sizeof(keep), "%llu", (unsigned long long)w->keep_bytes);
	r = child_environment(&environment, kept, ARRAY_SIZE(kept), NULL)
		    ?: child_start(&w->child,
				   &(struct child_program){
					   .path = w->path,
					   .argv = argv,
					   .environment = environment,
					   .sockets = types,
					   .n_sockets = ARRAY_SIZE(types),
					   .file = &answers,
				   },
				   sockets);
	if (r)
		return r;
	w->socket = sockets[0];
	w->leash = sockets[1];
	w->answers = steal_fd(&answers);
	return 0;
}

/* Returns WORKER_E_OK or _REST. */
static int worker_ensure_started(struct worker *w)
{
	int status, r;

	if (w->socket >= 0)
		return WORKER_E_OK;
	if (w->rests_until_ns && clock_ns(CLOCK_MONOTONIC) < w->rests_until_ns)
		return WORKER_E_REST;
	w->rests_until_ns = 0;
	if (!worker_reap(w, 0, &status)) {
		worker_back_off(w);
		return WORKER_E_REST;
	}
	r = worker_start_process(w);
	if (!r) {
		r = worker_watch_fd(w, w->socket);
		if (!r && w->child.pidfd >= 0)
			r = worker_watch_fd(w, w->child.pidfd);
		if (r)
			worker_kill(w);
	}
	if (r) {
		w->n_futile++;
		worker_back_off(w);
		snprintf(w->stats.why, sizeof(w->stats.why), "cannot be started: %s", strerror(-r));
		return WORKER_E_REST;
	}
	w->came_up = w->answered = false;
	w->stats.started++;
	return WORKER_E_OK;
}

/* No fault of its own: another one is started when it is needed. */
static void worker_dismiss(struct worker *w)
{
	int status;

	worker_kill(w);
	worker_reap(w, END_MS, &status);
}

/*
 * What the next request may use. A process cannot be given more than it was started with: where
 * there is more by now, another one takes its place.
 */
static void worker_allow_memory(struct worker *w)
{
	uint64_t allowed;

	w->allowed_bytes = w->memory_bytes;
	if (!w->budget)
		return;
	allowed = memory_budget_begin(w->budget, w->number, w->child.pid);
	if (allowed < w->allowed_bytes)
		w->allowed_bytes = allowed;
	if (w->socket >= 0 && w->allowed_bytes > w->started_bytes + w->started_bytes / 4)
		worker_dismiss(w);
	else if (w->socket >= 0 && w->allowed_bytes > w->started_bytes)
		w->allowed_bytes = w->started_bytes;
}

/*
 * Takes it out of the memfd @fd, once: the worker may go on changing that. Returns what is wrong,
 * or NULL.
 */
static const char *worker_take_payload(int fd, uint64_t length, uint64_t max, uint8_t **ret)
{
	cleanup(freep) uint8_t *data = NULL;

	if (length > max)
		return "malformed answer: too long";
	data = malloc((size_t)length);
	if (!data)
		return "no memory for its answer";
	if (read_range(fd, data, (size_t)length, 0) != (ssize_t)length)
		return "malformed answer: shorter than it says";
	(void)!ftruncate(fd, 0);
	*ret = steal_ptr(&data);
	return NULL;
}

static bool worker_is_hello(const struct worker_answer_header *h)
{
	return !h->id && h->outcome == WORKER_DONE && !h->payload_length && !h->is_last;
}

/*
 * Returns what is wrong with the packet, or NULL. *ret_is_answer: it is what is owed, and its
 * payload, if any, in *w.
 */
static const char *worker_check_packet(struct worker *w, const struct worker_answer_header *h,
				       const struct fd_packet *p, bool *ret_is_answer)
{
	*ret_is_answer = false;
	if (p->is_cut || p->n_fds || p->length != sizeof(*h) || h->magic != WORKER_MAGIC)
		return "malformed answer: no such header";
	if (!w->came_up) {
		w->came_up = worker_is_hello(h);
		return w->came_up ? NULL : "protocol error: an answer before it was up";
	}
	if (!w->owes || h->id != w->id || h->outcome >= N_WORKER_OUTCOMES || h->is_last > 1)
		return "protocol error: an answer to no request";
	if (h->payload_length && h->outcome != WORKER_DONE)
		return "protocol error: a payload without an answer";
	*ret_is_answer = true;
	return h->payload_length
		       ? worker_take_payload(w->answers, h->payload_length,
					     worker_answer_max(w->allowed_bytes), &w->data)
		       : NULL;
}

static void worker_finish_answer(struct worker *w, const struct worker_answer_header *h,
				 struct worker_reply *ret)
{
	w->owes = false;
	worker_release_memory(w);
	w->answered = true;
	w->n_futile = 0;
	w->stats.answered++;
	worker_set_timer(w, 0);
	*ret = (struct worker_reply){
		.outcome = (enum worker_outcome)h->outcome,
		.data = w->data,
		.length = (size_t)h->payload_length,
	};
	if (h->is_last)
		worker_dismiss(w);
}

/*
 * For how long it could have run and had no CPU, since its start (the second number of
 * /proc/PID/schedstat: Documentation/scheduler/sched-stats.rst); 0: unknown.
 */
static uint64_t worker_starved_ns(const struct worker *w)
{
	char path[32], text[128];
	unsigned long long ran_ns, starved_ns;
	cleanup(closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)w->child.pid);
	fd = w->child.pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%llu %llu", &ran_ns, &starved_ns) == 2 ? starved_ns : 0;
}

/*
 * On a busy machine it is no fault of the file's that the worker gets no CPU: that time does not
 * count, up to a limit. Time that it sleeps does, waiting for a disk.
 */
static bool worker_is_too_slow(struct worker *w)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), starved_ns;

	if (!w->owes || now_ns < w->until_ns)
		return false;
	starved_ns = worker_starved_ns(w);
	starved_ns -= starved_ns < w->starved_ns ? starved_ns : w->starved_ns;
	if (starved_ns > STARVED_MOST * w->deadline_ns)
		starved_ns = STARVED_MOST * w->deadline_ns;
	w->until_ns = w->asked_ns + w->deadline_ns + starved_ns;
	worker_set_timer(w, w->until_ns);
	return now_ns >= w->until_ns;
}

/* unix(7), SIOCOUTQ: what it has not received yet is still ours. */
static bool worker_has_unread_bytes(const struct worker *w)
{
	int n = 0;

	return ioctl(w->socket, SIOCOUTQ, &n) == 0 && n > 0;
}

/* Looks at what came. Returns WORKER_E_OK, _NONE, or _DIED: it was buried. */
static int worker_read_packets(struct worker *w, struct worker_reply *ret)
{
	bool is_answer = false;
	struct worker_answer_header header;
	const char *why = NULL;
	struct fd_packet p;
	int r;

	if (w->socket < 0)
		return WORKER_E_NONE;
	while ((r = fd_packet_receive(w->socket, &header, sizeof(header), MSG_DONTWAIT, &p)) ==
	       FD_PACKET_E_OK) {
		why = worker_check_packet(w, &header, &p, &is_answer);
		fd_packet_deinit(&p);
		if (why) {
			worker_retire(w, why);
			return WORKER_E_DIED;
		}
		if (is_answer) {
			worker_finish_answer(w, &header, ret);
			return WORKER_E_OK;
		}
	}
	if (r == FD_PACKET_E_LATER) {
		if (worker_is_too_slow(w))
			why = "too slow";
		else if (!pidfd_has_ended(w->child.pidfd)) /* another one may hold the socket */
			return WORKER_E_NONE;
	}
	w->is_unread = w->owes && (r == FD_PACKET_E_RESET || worker_has_unread_bytes(w));
	worker_retire(w, why);
	return WORKER_E_DIED;
}

/* Without what the kernel says behind the path of a file that is gone: names stay the same. */
static void worker_put_file_name(struct worker_request_header *header, const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *name = basename(path);
	size_t length = strlen(name), n_deleted = sizeof(deleted) - 1;

	if (length > n_deleted && strcmp(name + length - n_deleted, deleted) == 0)
		length -= n_deleted;
	snprintf(header->file_name, sizeof(header->file_name), "%.*s", (int)length, name);
}

/* Returns FD_PACKET_E_OK, _LATER or _END: there is nobody, or negative errno. */
static int worker_transmit(struct worker *w, const struct worker_request *request)
{
	struct worker_request_header header = {
		.magic = WORKER_MAGIC,
		.kind = request->kind,
		.id = w->id,
		.flags = request->flags,
		.key = request->key,
		.max_words = request->max_words,
		.memory_bytes = w->allowed_bytes,
		.payload_length = request->payload_length,
	};
	const struct iovec parts[2] = {
		{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = (void *)(uintptr_t)request->payload,
		 .iov_len = request->payload_length},
	};
	int files[N_WORKER_FILES];
	size_t n = 0;

	if (request->path)
		worker_put_file_name(&header, request->path);
	for (unsigned i = 0; i < N_WORKER_FILES; i++) {
		if (request->files[i] < 0)
			continue;
		header.files |= 1u << i;
		files[n++] = request->files[i];
	}
	return fd_packet_send_parts(w->socket, parts, request->payload_length ? 2 : 1, files, n,
				    MSG_DONTWAIT);
}

int worker_send(struct worker *w, const struct worker_request *request)
{
	struct worker_reply reply;
	int r;

	if (w->owes)
		return WORKER_E_BUSY;
	if (request->payload_length > WORKER_REQUEST_MAX - sizeof(struct worker_request_header))
		return error_origin(-E2BIG);
	free(w->data);
	w->data = NULL;
	/* It may have ended since. */
	worker_read_packets(w, &reply);
	worker_allow_memory(w);
	for (;;) {
		r = worker_ensure_started(w);
		if (r)
			return r;
		w->id++;
		r = worker_transmit(w, request);
		if (r <= 0)
			break;
		/* In this very moment. One that has not answered yet makes all rest. */
		worker_retire(w, NULL);
	}
	if (r)
		return error_origin(r);
	w->owes = true;
	w->is_unread = false;
	w->asked_ns = clock_ns(CLOCK_MONOTONIC);
	w->until_ns = w->asked_ns + w->deadline_ns;
	w->starved_ns = worker_starved_ns(w);
	worker_set_timer(w, w->until_ns);
	return WORKER_E_OK;
}

int worker_receive(struct worker *w, struct worker_reply *ret)
{
	bool owed = w->owes;
	int r;

	free(w->data);
	w->data = NULL;
	r = worker_read_packets(w, ret);
	if (r != WORKER_E_DIED)
		return r;
	if (!owed)
		return WORKER_E_NONE;
	return w->came_up && !w->is_unread ? WORKER_E_DIED : WORKER_E_REST;
}

static int worker_query_once(struct worker *w, const struct worker_request *request,
			     struct worker_reply *ret)
{
	struct pollfd ready = {.fd = w->epoll_fd, .events = POLLIN};
	int r = worker_send(w, request);

	while (!r) {
		(void)!poll(&ready, 1, -1);
		r = worker_receive(w, ret);
		if (r != WORKER_E_NONE)
			return r;
		r = 0;
	}
	return r;
}

/* Whether it is about files, and nobody else could have written any of them. */
static bool worker_files_are_roots(const struct worker_request *request)
{
	unsigned n = 0;
	struct stat st;

	for (unsigned i = 0; i < N_WORKER_FILES; i++) {
		if (request->files[i] < 0)
			continue;
		if (fstat(request->files[i], &st) < 0 || st.st_uid ||
		    st.st_mode & (S_IWGRP | S_IWOTH))
			return false;
		n++;
	}
	return n > 0;
}

/*
 * What strangers use is not to be why a program of the system has no names. Returns whether to ask
 * again.
 */
static bool worker_claim_room(struct worker *w, const struct worker_request *request)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + ROOM_NS;

	if (!w->budget || !worker_files_are_roots(request) ||
	    !memory_budget_claim(w->budget, w->number))
		return false;
	while (!memory_budget_has_made_room(w->budget, w->number) &&
	       clock_ns(CLOCK_MONOTONIC) < until_ns)
		usleep(ROOM_STEP_US);
	return true;
}

int worker_query(struct worker *w, const struct worker_request *request, struct worker_reply *ret)
{
	int r = worker_query_once(w, request, ret);

	if (r == WORKER_E_OK && ret->outcome == WORKER_NO_MEMORY && worker_claim_room(w, request))
		r = worker_query_once(w, request, ret);
	return r;
}

void worker_reject_answer(struct worker *w)
{
	w->answered = false;
	w->stats.answered--;
	worker_retire(w, "malformed answer: does not fit the request");
}

int worker_fd(const struct worker *w)
{
	return w->epoll_fd;
}

uint64_t worker_backoff_until(const struct worker *w)
{
	return w->rests_until_ns;
}

void worker_get_stats(const struct worker *w, struct worker_stats *ret)
{
	uint64_t used_ns = 0;

	(void)clock_process_ns(w->child.pid, &used_ns);
	*ret = w->stats;
	ret->used_ns += used_ns;
}

int worker_pid(const struct worker *w)
{
	return w->socket >= 0 ? (int)w->child.pid : 0;
}
